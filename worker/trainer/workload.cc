#include "worker/trainer/workload.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/read_file.h"
#include "common/sha256.h"
#include "common/spec/spec.h"
#include "common/version.h"
#include "worker/data/open_dataset.h"
#include "worker/ddp/parameter_digest.h"
#include "worker/model/optimizer.h"
#include "worker/model/optimizer_state.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

absl::StatusOr<Workload::Data> OpenData(const v1::Data& spec, uint64_t seed) {
  auto dataset = data::OpenDataset(spec, seed);
  if (!dataset.ok()) return dataset.status();
  auto transforms = data::Transforms::Create(spec.transforms(), (*dataset)->shape(), seed);
  if (!transforms.ok()) return transforms.status();
  return Workload::Data{*std::move(dataset), *std::move(transforms)};
}

// Samples of their own to measure on.
absl::StatusOr<std::optional<Workload::Data>> OpenHeldOut(const v1::JobSpec& spec,
                                                          const data::SampleShape& shape) {
  if (!spec.evaluate().has_data()) return std::nullopt;
  absl::StatusOr<Workload::Data> held_out = OpenData(spec.evaluate().data(), spec.seed());
  if (!held_out.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("evaluate: ", held_out.status().message()));
  }
  if (held_out->dataset->shape() == shape) return *std::move(held_out);
  return absl::InvalidArgumentError(
      "evaluate.data: its samples have another shape or other classes than those of data");
}

absl::StatusOr<data::Split> SplitData(const v1::JobSpec& spec, int64_t samples,
                                      const std::optional<Workload::Data>& held_out) {
  if (spec.evaluate().has_holdout()) {
    return data::HoldOut(samples, spec.evaluate().holdout(), spec.seed());
  }
  data::Split split = data::TrainOnAll(samples);
  if (held_out) split.held_out = data::TrainOnAll(held_out->dataset->size()).training;
  return split;
}

// The network of a TorchScript job is code, which is part of the program.
absl::StatusOr<std::string> ModelFile(const v1::JobSpec& spec) {
  if (!spec.model().has_torchscript()) return "";
  const absl::StatusOr<std::string> bytes = ReadFile(spec.model().torchscript().path());
  if (!bytes.ok()) return bytes.status();
  Sha256 sha256;
  sha256.AddText(*bytes);
  return absl::StrCat(", model ", HexOf(sha256.Finish()));
}

}  // namespace

absl::StatusOr<Workload> LoadWorkload(const v1::JobSpec& asked_for, const Mistakes& mistakes,
                                      const RankDevice& device) {
  if (absl::Status status = spec::Validate(asked_for); !status.ok()) return status;
  const v1::JobSpec spec = mistakes.InJob(asked_for);
  absl::StatusOr<Workload::Data> training = OpenData(spec.data(), spec.seed());
  if (!training.ok()) return training.status();
  const data::SampleShape& shape = training->dataset->shape();
  auto held_out = OpenHeldOut(spec, shape);
  if (!held_out.ok()) return held_out.status();
  absl::StatusOr<data::Split> split = SplitData(spec, training->dataset->size(), *held_out);
  if (!split.ok()) return split.status();
  auto sampler =
      data::Sampler::Create(mistakes.InOrder(spec), static_cast<int64_t>(split->training.size()));
  if (!sampler.ok()) return sampler.status();
  auto model = model::CreateModel(mistakes.InWeights(spec), shape);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::string> model_file = ModelFile(spec);
  if (!model_file.ok()) return model_file.status();
  (*model)->MoveTo(device.for_torch());
  auto optimizer = model::CreateOptimizer(spec.optimizer(), (*model)->Parameters());
  return Workload{spec,
                  *std::move(training),
                  *std::move(held_out),
                  *std::move(split),
                  *std::move(sampler),
                  *std::move(model),
                  *std::move(model_file),
                  std::move(optimizer),
                  device.Fingerprint()};
}

std::vector<ddp::NamedTensor> OptimizerStateOf(const Workload& workload) {
  return model::OptimizerState(*workload.optimizer, workload.model->Parameters());
}

std::vector<ddp::NamedTensor> TensorsOf(const Workload& workload) {
  std::vector<ddp::NamedTensor> tensors = workload.model->Parameters();
  for (auto& buffer : workload.model->Buffers()) tensors.push_back(std::move(buffer));
  for (auto& state : OptimizerStateOf(workload)) tensors.push_back(std::move(state));
  return tensors;
}

std::string DigestOf(const model::Model& model) {
  std::vector<ddp::NamedTensor> tensors = model.Parameters();
  for (auto& buffer : model.Buffers()) tensors.push_back(std::move(buffer));
  return ddp::ParameterDigest(tensors);
}

checkpoint::TrainingIdentity IdentityOf(const Workload& workload) {
  return {workload.spec, workload.training.dataset->fingerprint(),
          absl::StrCat("tandem ", kVersion, ", ", LibraryVersions(), workload.model_file),
          workload.device};
}

uint64_t HashOf(const Workload& workload) {
  const checkpoint::TrainingIdentity identity = IdentityOf(workload);
  Sha256 sha256;
  sha256.AddText(identity.spec.SerializeAsString());
  sha256.AddText(identity.data_fingerprint);
  sha256.AddText(workload.measured().dataset->fingerprint());
  sha256.AddText(identity.build);
  sha256.AddText(identity.device);
  const Sha256::Digest digest = sha256.Finish();
  uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

}  // namespace tandem::trainer
