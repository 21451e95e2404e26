// An independent training of the same model on the same batches, with nothing of ours but the initial
// weights' seed: LibTorch's own layers, loss and optimizer, one undivided batch.
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "gtest/gtest.h"
#include "tandem/v1/job.pb.h"
#include "torch/nn/modules/linear.h"
#include "torch/optim/adamw.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

constexpr uint64_t kSteps = 20;

v1::JobSpec DigitsJob(uint32_t logical_ranks) {
  v1::JobSpec spec = SmallJob();
  v1::Csv& csv = *spec.mutable_data()->mutable_csv();
  csv.set_path(DIGITS_CSV);
  csv.set_classes(10);
  csv.set_scale(0.0625);
  spec.clear_epochs();
  spec.clear_evaluate();
  spec.set_steps(kSteps);
  spec.set_global_batch_size(64);
  spec.set_logical_ranks(logical_ranks);
  v1::Mlp& mlp = *spec.mutable_model()->mutable_mlp();
  mlp.clear_hidden();
  mlp.add_hidden(128);
  mlp.set_dropout(0);
  return spec;
}

struct Digits {
  at::Tensor pixels;  // samples x 64
  at::Tensor labels;
};

Digits ReadDigits() {
  std::ifstream file(DIGITS_CSV);
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::vector<float> numbers;
    for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::stof(field));
    labels.push_back(static_cast<int64_t>(numbers.back()));
    for (size_t i = 0; i + 1 < numbers.size(); ++i) pixels.push_back(numbers[i] * 0.0625f);
  }
  const auto samples = static_cast<int64_t>(labels.size());
  return {at::tensor(pixels).reshape({samples, 64}), at::tensor(labels)};
}

// Losses of the steps, on the batches that `run` had.
std::vector<double> TrainStock(const TracedRun& run, uint64_t seed) {
  at::manual_seed(seed);
  torch::nn::Linear first(64, 128), second(128, 10);
  std::vector<at::Tensor> parameters = first->parameters();
  for (const at::Tensor& parameter : second->parameters()) parameters.push_back(parameter);
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(0.01).weight_decay(0.01));
  const Digits digits = ReadDigits();
  std::vector<double> losses;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    const at::Tensor ids = at::tensor(SamplesOf(run, step));
    const at::Tensor scores =
        second->forward(at::relu(first->forward(digits.pixels.index_select(0, ids))));
    const at::Tensor loss = at::cross_entropy_loss(scores, digits.labels.index_select(0, ids));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

std::vector<double> LossesOf(const TracedRun& run) {
  std::vector<double> losses;
  for (const std::string& bytes : run.samples) {
    v1::StepSample sample;
    EXPECT_TRUE(sample.ParseFromString(bytes));
    losses.push_back(sample.loss_sum() / static_cast<double>(sample.count()));
  }
  return losses;
}

void ExpectNear(const std::vector<double>& ours, const std::vector<double>& theirs) {
  ASSERT_EQ(ours.size(), kSteps);
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(ours[step] / theirs[step], 1, 1e-6) << "step " << step + 1;
  }
}

TEST(StockTraining, OneLogicalRank_LossesAgreeToRounding) {
  const TracedRun run = TrainTraced(DigitsJob(1), 1);
  ExpectNear(LossesOf(run), TrainStock(run, DigitsJob(1).seed()));
}

TEST(StockTraining, TwoLogicalRanksOnTwoRanks_LossesAgreeToRounding) {
  const TracedRun run = TrainTraced(DigitsJob(2), 2);
  ExpectNear(LossesOf(run), TrainStock(run, DigitsJob(2).seed()));
}

// The control: other weights are noticed by far.
TEST(StockTraining, OtherSeed_LossesDoNotAgree) {
  const TracedRun run = TrainTraced(DigitsJob(1), 1);
  const double theirs = TrainStock(run, DigitsJob(1).seed() + 1)[0];
  EXPECT_GT(std::abs(LossesOf(run)[0] / theirs - 1), 1e-3);
}

}  // namespace
}  // namespace tandem::trainer
