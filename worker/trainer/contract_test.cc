// Section 9 of the numerical contract, on real trainer processes: after every step the same bytes of
// parameters, buffers and optimizer state at every world size.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/trainer/test_agent.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/test_modules.h"
#include "worker/trainer/test_trace.h"

namespace tandem::trainer {
namespace {

using ::testing::SizeIs;

constexpr uint64_t kSteps = 20;

struct TracedRun {
  std::vector<std::string> tensors;  // by step, of rank 0
  std::vector<std::string> samples;  // serialized StepSample
  std::string digest;
};

TracedRun Train(v1::JobSpec spec, uint32_t world_size) {
  const TemporaryFolder folder = *TemporaryFolder::Create("tandem-contract");
  spec.mutable_trace()->set_dir(folder.path());
  spec.set_verify_every(5);
  spec::FillDefaults(&spec);
  const std::vector<RankRecord> ranks = RunJob(TRAINER, spec, world_size);
  TracedRun run;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    EXPECT_FALSE(ranks[rank].failure) << ranks[rank].failure->message();
    const std::vector<std::string> tensors = TensorsByStep(ReadTrace(folder.path(), rank));
    EXPECT_THAT(tensors, SizeIs(spec.steps()));
    if (rank == 0) run.tensors = tensors;
    EXPECT_EQ(tensors, run.tensors) << "rank " << rank << " is not as rank 0";
  }
  run.samples = ranks[0].samples;
  run.digest = ranks[0].digest;
  return run;
}

void ExpectSameBits(const TracedRun& a, const TracedRun& b) {
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.digest, b.digest);
}

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
  };
  return jobs;
}

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  v1::JobSpec job() const { return Jobs().at(GetParam())(); }
  void ExpectSameBitsAt(std::initializer_list<uint32_t> world_sizes) const {
    const TracedRun alone = Train(job(), 1);
    for (const uint32_t world_size : world_sizes) {
      SCOPED_TRACE(absl::StrCat("world size ", world_size));
      ExpectSameBits(Train(job(), world_size), alone);
    }
  }
};

TEST_P(EveryModel, OneThreeAndEightRanks_SameBitsAfterEveryStep) { ExpectSameBitsAt({3, 8}); }

TEST_P(EveryModel, LongAllWorldSizes_SameBitsAfterEveryStep) { ExpectSameBitsAt({2, 4, 5, 6, 7}); }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, job] : Jobs()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Contract, EveryModel, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tandem::trainer
