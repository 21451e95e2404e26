#include "worker/model/synchronized_pass.h"

#include <map>
#include <memory>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "gtest/gtest.h"
#include "torch/nn/modules/batchnorm.h"
#include "torch/nn/modules/linear.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/model/module_network.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

using Leaves = std::vector<std::optional<Values>>;
using Batches = std::vector<std::optional<data::Batch>>;

std::optional<Values> TreeOf(const Leaves& leaves, FoldAdd add) {
  const ddp::AddPresent<FoldAdd> add_present{add};
  ddp::TreeAccumulator<std::optional<Values>, ddp::AddPresent<FoldAdd>> tree(add_present);
  for (uint32_t l = 0; l < leaves.size(); ++l) tree.Push({l, 1}, leaves[l]);
  return tree.nodes()[0].value;
}

// A fold among logical ranks that are all here, which takes note of what went in and came out.
class Recording {
 public:
  Fold fold() {
    return [this](const FoldPlace& place, absl::Span<const std::optional<Values>> leaves,
                  FoldAdd add) -> absl::StatusOr<std::optional<Values>> {
      Entry& entry = entries_[place.operation];
      entry.leaves.assign(leaves.begin(), leaves.end());
      entry.total = TreeOf(entry.leaves, add);
      EXPECT_EQ(entry.total->size(), place.width);
      return entry.total;
    };
  }

  // The fold as a rank sees it that executes some of the logical ranks, from `begin` on: it says
  // what these said, and hears the same total.
  Fold Replay(size_t begin) const {
    return [this, begin](const FoldPlace& place, absl::Span<const std::optional<Values>> leaves,
                         FoldAdd) -> absl::StatusOr<std::optional<Values>> {
      const Entry& entry = entries_.at(place.operation);
      for (size_t l = 0; l < leaves.size(); ++l) EXPECT_EQ(leaves[l], entry.leaves[begin + l]);
      return entry.total;
    };
  }

 private:
  struct Entry {
    Leaves leaves;
    std::optional<Values> total;
  };
  std::map<uint32_t, Entry> entries_;
};

v1::JobSpec Spec(double dropout = 0) {
  v1::JobSpec spec;
  spec.set_seed(5);
  v1::Convnet& convnet = *spec.mutable_model()->mutable_convnet();
  convnet.add_channels(4);
  convnet.add_channels(6);
  convnet.set_kernel(3);
  convnet.set_pool(2);
  convnet.set_batch_norm(true);
  convnet.set_dropout(dropout);
  return spec;
}

std::unique_ptr<Model> MakeModel(const v1::JobSpec& spec) {
  return *CreateModel(spec, {.inputs = {8, 8}, .targets = {}, .classes = 4});
}

data::Batch Pictures(int64_t samples) {
  SeedDefaultGenerator(11);
  return {at::randn({samples, 8, 8}), at::arange(samples) % 4};
}

// Shares of these sizes, as tensors of their own.
Batches Cut(const data::Batch& batch, const std::vector<int64_t>& sizes) {
  Batches shares;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    shares.emplace_back();
    if (size > 0) {
      shares.back() = {batch.inputs.narrow(0, begin, size).clone(),
                       batch.targets.narrow(0, begin, size).clone()};
    }
    begin += size;
  }
  return shares;
}

// What one step leaves: by logical rank the loss and the gradients, and the buffers.
struct Step {
  std::vector<double> losses;
  std::vector<std::vector<at::Tensor>> gradients;
  std::vector<ddp::NamedTensor> buffers;
};

// Logical ranks from `first` on.
Step TakeStep(const v1::JobSpec& spec, const Batches& batches, Fold fold, size_t first = 0) {
  const auto model = MakeModel(spec);
  SynchronizedPass pass(*model, std::move(fold), [first](size_t leaf, size_t segment) {
    return 100 * (first + leaf) + segment;
  });
  Step step;
  const auto outcomes = *pass.Forward(batches);
  for (const auto& outcome : outcomes) {
    step.losses.push_back(outcome ? outcome->loss_sum.item<double>() : 0);
  }
  step.gradients = *pass.Backward(1);
  step.buffers = model->Buffers();
  return step;
}

at::Tensor SumOf(const Step& step, size_t parameter) {
  at::Tensor sum;
  for (const auto& gradients : step.gradients) {
    if (gradients.empty()) continue;
    sum = sum.defined() ? sum + gradients[parameter] : gradients[parameter];
  }
  return sum;
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / b.norm().item<double>();
}

void ExpectSameBits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

TEST(SynchronizedPass, SharesOfABatch_EqualTheUndividedBatchToRounding) {
  const data::Batch batch = Pictures(12);
  Recording recording;
  const Step step = TakeStep(Spec(), Cut(batch, {5, 3, 0, 4}), recording.fold());

  const auto stock = MakeModel(Spec());
  const Outcome outcome = stock->Forward(batch);
  outcome.loss_sum.backward();
  EXPECT_NEAR(step.losses[0] + step.losses[1] + step.losses[3], outcome.loss_sum.item<double>(),
              1e-5);
  const auto parameters = stock->Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    // Normalization takes away whatever the bias of a convolution adds: its gradient is noise.
    if (parameters[i].name.starts_with("convs") && parameters[i].name.ends_with("bias")) continue;
    EXPECT_LT(Distance(SumOf(step, i), parameters[i].tensor.grad()), 2e-6) << parameters[i].name;
  }
  const auto buffers = stock->Buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(at::allclose(step.buffers[i].tensor, buffers[i].tensor, 1e-6, 1e-6))
        << buffers[i].name;
  }
}

// The control of the above: each share by its own statistics.
TEST(SynchronizedPass, SharesByThemselves_DoNotEqualTheUndividedBatch) {
  const data::Batch batch = Pictures(12);
  const auto stock = MakeModel(Spec()), shares = MakeModel(Spec());
  stock->Forward(batch).loss_sum.backward();
  for (const auto& share : Cut(batch, {5, 3, 4})) shares->Forward(*share).loss_sum.backward();
  EXPECT_GT(Distance(shares->Parameters()[0].tensor.grad(), stock->Parameters()[0].tensor.grad()),
            1e-2);
}

TEST(SynchronizedPass, FourOnOneRankOrTwoOnEachOfTwo_AreTheSameBits) {
  const Batches batches = Cut(Pictures(14), {4, 4, 3, 3});
  Recording recording;
  const Step together = TakeStep(Spec(/*dropout=*/0.5), batches, recording.fold());
  for (const size_t begin : {0, 2}) {
    const Step half =
        TakeStep(Spec(0.5), {batches[begin], batches[begin + 1]}, recording.Replay(begin), begin);
    for (size_t l = 0; l < 2; ++l) {
      EXPECT_EQ(half.losses[l], together.losses[begin + l]);
      ExpectSameBits(half.gradients[l], together.gradients[begin + l]);
    }
    for (size_t i = 0; i < half.buffers.size(); ++i) {
      EXPECT_TRUE(at::equal(half.buffers[i].tensor, together.buffers[i].tensor));
    }
  }
}

TEST(SynchronizedPass, TwoSharesMergedIntoOne_AreOtherBits) {
  Recording four, two;
  const Step fine = TakeStep(Spec(), Cut(Pictures(14), {4, 4, 3, 3}), four.fold());
  const Step coarse = TakeStep(Spec(), Cut(Pictures(14), {8, 6}), two.fold());
  EXPECT_FALSE(at::equal(SumOf(fine, 0), SumOf(coarse, 0)));
}

TEST(SynchronizedPass, Dropout_DiffersBetweenLogicalRanks) {
  const data::Batch same = Pictures(4);
  Recording recording;
  const Step step = TakeStep(Spec(/*dropout=*/0.5), {same, same}, recording.fold());
  EXPECT_NE(step.losses[0], step.losses[1]);
}

TEST(SynchronizedPass, Scale_MultipliesTheGradientsAlone) {
  Recording recording;
  const auto model = MakeModel(Spec());
  const auto gradients = [&](double scale) {
    SynchronizedPass pass(*model, recording.fold(), [](size_t, size_t) { return 0; });
    pass.Forward(Cut(Pictures(6), {3, 3})).IgnoreError();
    return (*pass.Backward(scale))[0];
  };
  const auto plain = gradients(1), scaled = gradients(4);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::allclose(plain[i] * 4, scaled[i]));
}

TEST(SynchronizedPass, Bf16_GivesGradientsInFp32) {
  v1::JobSpec spec = Spec();
  spec.set_precision(v1::PRECISION_BF16);
  Recording recording;
  const Step step = TakeStep(spec, Cut(Pictures(6), {3, 3}), recording.fold());
  for (const at::Tensor& gradient : step.gradients[0]) {
    EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  }
}

// Rows of one number through a normalization, for batches too small for pictures.
class NormedRows final : public ModuleNetwork, public Segmented {
 public:
  NormedRows()
      : linear_(register_module("linear", torch::nn::Linear(1, 3))),
        norm_(register_module("norm", torch::nn::BatchNorm1d(3))) {}

  at::Tensor Forward(const at::Tensor& inputs) override {
    return norm_->forward(linear_->forward(inputs));
  }
  Segmented* segmented() override { return this; }
  std::vector<NormLayer> Norms() const override {
    return {{.weight = norm_->weight,
             .bias = norm_->bias,
             .running_mean = norm_->running_mean,
             .running_var = norm_->running_var,
             .num_batches_tracked = norm_->num_batches_tracked}};
  }
  at::Tensor RunSegment(size_t index, const at::Tensor& values) override {
    return index == 0 ? linear_->forward(values) : values;
  }

 private:
  torch::nn::Linear linear_;
  torch::nn::BatchNorm1d norm_;
};

Model RowModel() {
  SeedDefaultGenerator(2);
  return Model(std::make_unique<NormedRows>(), v1::LOSS_CROSS_ENTROPY, v1::PRECISION_FP32);
}

data::Batch OneRow() { return {at::ones({1, 1}), at::ones({1}, at::kLong)}; }

// CASES 25: the rank without the row has the same error.
TEST(SynchronizedPass, OneRowInAll_IsTheSameErrorOnEveryRank) {
  Recording recording;
  Model whole = RowModel(), with_row = RowModel(), without_row = RowModel();
  const auto status = [](Model& model, Fold fold, const Batches& batches) {
    return SynchronizedPass(model, std::move(fold), [](size_t, size_t) { return 0; })
        .Forward(batches)
        .status();
  };
  const absl::Status alone = status(whole, recording.fold(), {OneRow(), std::nullopt});
  EXPECT_TRUE(absl::IsInvalidArgument(alone));
  EXPECT_EQ(status(with_row, recording.Replay(0), {OneRow()}), alone);
  EXPECT_EQ(status(without_row, recording.Replay(1), {std::nullopt}), alone);
}

TEST(SynchronizedPass, OneRowOnEachOfTwoLogicalRanks_IsEnough) {
  Recording recording;
  Model model = RowModel();
  SynchronizedPass pass(model, recording.fold(), [](size_t, size_t) { return 0; });
  EXPECT_TRUE(pass.Forward(Batches{OneRow(), OneRow()}).ok());
}

TEST(SynchronizedPass, FailingFold_EndsThePassWithItsStatus) {
  Model model = RowModel();
  SynchronizedPass pass(
      model, [](const auto&, auto, auto) { return absl::UnavailableError("rank 1 is gone"); },
      [](size_t, size_t) { return 0; });
  EXPECT_EQ(pass.Forward(Batches{OneRow(), OneRow()}).status(),
            absl::UnavailableError("rank 1 is gone"));
}

}  // namespace
}  // namespace tandem::model
