#include "worker/trainer/contract_jobs.h"

#include <cstdint>
#include <string>
#include <vector>

#include "worker/trainer/test_job.h"
#include "worker/trainer/test_modules.h"

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

}  // namespace

const std::map<std::string, std::function<v1::JobSpec()>>& ContractJobs() {
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

}  // namespace tandem::trainer
