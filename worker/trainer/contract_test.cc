// Section 9 of the numerical contract, on real trainer processes: after every step the same bytes of
// parameters, buffers and optimizer state at every world size.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/job.pb.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/test_modules.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

constexpr uint64_t kSteps = 20;

// 8 logical ranks, 20 steps, a short batch at the end of each epoch.
v1::JobSpec Job() {
  v1::JobSpec spec = SmallJob();
  spec.clear_epochs();
  spec.clear_evaluate();
  spec.set_steps(kSteps);
  spec.set_logical_ranks(8);
  spec.set_global_batch_size(16);
  return spec;
}

v1::JobSpec PicturesJob(v1::BatchNorm batch_norm) {
  v1::JobSpec spec = Job();
  v1::Synthetic& synthetic = *spec.mutable_data()->mutable_synthetic();
  synthetic.set_samples(52);
  synthetic.mutable_squares()->set_side(8);
  v1::Convnet& convnet = *spec.mutable_model()->mutable_convnet();
  convnet.add_channels(4);
  convnet.add_channels(6);
  convnet.set_dropout(0.2);
  spec.set_batch_norm(batch_norm);
  v1::Sgd& sgd = *spec.mutable_optimizer()->mutable_sgd();
  sgd.set_lr(0.05);
  sgd.set_momentum(0.9);
  return spec;
}

v1::JobSpec GptJob() {
  v1::JobSpec spec = Job();
  std::string text;
  for (int i = 0; i < 420; ++i) text += "abcdefgh"[(i * i + i / 7) % 8];
  v1::Text& data = *spec.mutable_data()->mutable_text();
  data.set_path(WriteTestFile("text.txt", text));
  data.set_window(12);
  v1::Gpt& gpt = *spec.mutable_model()->mutable_gpt();
  gpt.set_layers(2);
  gpt.set_heads(2);
  gpt.set_width(16);
  gpt.set_dropout(0.1);
  spec.set_clip_norm(0.5);
  spec.mutable_schedule()->set_warmup_steps(4);
  spec.mutable_schedule()->mutable_cosine();
  return spec;
}

v1::JobSpec RareParametersJob() {
  v1::JobSpec spec = Job();
  const std::string path = WriteTestFile("rare.pt", "");
  SaveModuleWithRareParameters(path);
  spec.mutable_model()->mutable_torchscript()->set_path(path);
  return spec;
}

// Tokens of which some are not predicted; of logical rank 1's first share, and of the whole third
// batch, none is.
v1::JobSpec MaskedTokensJob() {
  v1::JobSpec spec = GptJob();
  constexpr int64_t kSamples = 48, kWindow = 6;
  std::vector<int64_t> tokens, targets;
  for (int64_t i = 0; i < kSamples * kWindow; ++i) {
    const int64_t sample = i / kWindow;
    const bool masked = i % 3 == 0 || sample / 2 == 1 || sample / 16 == 2;
    tokens.push_back(i * i % 7);
    targets.push_back(masked ? -100 : (i + 1) * (i + 1) % 7);
  }
  v1::Npy& npy = *spec.mutable_data()->mutable_npy();
  npy.set_inputs(WriteTestFile("tokens.npy", NpyFile({kSamples, kWindow}, tokens)));
  npy.set_targets(WriteTestFile("targets.npy", NpyFile({kSamples, kWindow}, targets)));
  npy.set_vocabulary(7);
  npy.set_classes(7);
  spec.mutable_data()->set_shuffle(false);
  return spec;
}

v1::JobSpec Bfloat16Job() {
  v1::JobSpec spec = GptJob();
  spec.set_precision(v1::PRECISION_BF16);
  return spec;
}

v1::JobSpec Float16Job() {
  v1::JobSpec spec = Job();
  spec.set_precision(v1::PRECISION_FP16);
  return spec;
}

const std::map<std::string, std::function<v1::JobSpec()>>& Jobs() {
  static const auto& jobs = *new std::map<std::string, std::function<v1::JobSpec()>>{
      {"Mlp", Job},
      {"ConvnetOwnNorm", [] { return PicturesJob(v1::BATCH_NORM_PER_LOGICAL_RANK); }},
      {"ConvnetSynchronizedNorm", [] { return PicturesJob(v1::BATCH_NORM_SYNCHRONIZED); }},
      {"Gpt", GptJob},
      {"ParametersUnusedOrRare", RareParametersJob},
      {"Bfloat16", Bfloat16Job},
      {"Float16", Float16Job},
      {"MaskedTokens", MaskedTokensJob},
  };
  return jobs;
}

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  v1::JobSpec job() const { return Jobs().at(GetParam())(); }
  void ExpectSameBitsAt(std::initializer_list<uint32_t> world_sizes) const {
    const TracedRun alone = TrainTraced(job(), 1);
    for (const uint32_t world_size : world_sizes) {
      SCOPED_TRACE(absl::StrCat("world size ", world_size));
      ExpectSameBits(TrainTraced(job(), world_size), alone);
    }
  }
};

#ifdef TANDEM_LONG_TESTS

TEST_P(EveryModel, EveryWorldSize_SameBitsAfterEveryStep) { ExpectSameBitsAt({2, 4, 5, 6, 7}); }

#else

TEST_P(EveryModel, OneThreeAndEightRanks_SameBitsAfterEveryStep) { ExpectSameBitsAt({3, 8}); }

TEST(MaskedTokens, BatchWithoutATarget_IsAStepThatMovesNothing) {
  const TracedRun run = TrainTraced(MaskedTokensJob(), 2);
  v1::StepSample third;
  ASSERT_TRUE(third.ParseFromString(run.samples[2]));
  EXPECT_EQ(third.count(), 0u);
  EXPECT_EQ(run.tensors[2], run.tensors[1]);
  EXPECT_NE(run.tensors[1], run.tensors[0]);
}

// CASES 31: only the last sample, of the last logical rank, overflows; nobody steps.
TEST(LossScale, OverflowOnOneRankOnly_EveryRankSkipsTheStep) {
  v1::JobSpec spec = Float16Job();
  std::string lines;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&lines, i == 7 ? "60000" : "0.01", ",1,1\n");
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("overflow.csv", lines));
  spec.mutable_data()->set_shuffle(false);
  spec.set_global_batch_size(8);
  spec.mutable_model()->mutable_mlp()->set_dropout(0);
  spec.set_steps(1);
  const TracedRun alone = TrainTraced(spec, 1);
  ExpectSameBits(TrainTraced(spec, 2), alone);
  v1::JobSpec other = spec;  // the control: without the overflow there is a step
  other.mutable_data()->mutable_csv()->set_scale(1e-6);
  EXPECT_NE(TrainTraced(other, 1).digest, alone.digest);
  other = spec;
  other.mutable_optimizer()->mutable_adamw()->set_lr(0.5);
  EXPECT_EQ(TrainTraced(other, 1).digest, alone.digest) << "it has made a step";
}

// A module that counts its forwards in a buffer: measuring must not be among them.
TEST(Evaluation, OfAModelThatChangesItsBuffers_LeavesNoTrace) {
  v1::JobSpec spec = RareParametersJob();
  const std::string path = WriteTestFile("counting.pt", "");
  SaveCountingModule(path);
  spec.mutable_model()->mutable_torchscript()->set_path(path);
  spec.mutable_evaluate()->set_holdout(0.3);
  spec.mutable_evaluate()->set_every_steps(3);
  ExpectSameBits(TrainTraced(spec, 3), TrainTraced(spec, 1));
}

#endif

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, job] : Jobs()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Contract, EveryModel, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tandem::trainer
