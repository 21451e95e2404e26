#include "worker/trainer/workload.h"

#include <cstring>
#include <utility>

#include "common/spec/spec.h"
#include "common/version.h"
#include "worker/data/open_dataset.h"
#include "worker/ddp/sha256.h"
#include "worker/model/optimizer.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

absl::StatusOr<data::Split> SplitData(const v1::JobSpec& spec, int64_t samples) {
  if (!spec.has_evaluate()) return data::TrainOnAll(samples);
  return data::HoldOut(samples, spec.evaluate().holdout(), spec.seed());
}

}  // namespace

absl::StatusOr<Workload> LoadWorkload(const v1::JobSpec& spec) {
  if (absl::Status status = spec::Validate(spec); !status.ok()) return status;
  auto dataset = data::OpenDataset(spec.data(), spec.seed());
  if (!dataset.ok()) return dataset.status();
  absl::StatusOr<data::Split> split = SplitData(spec, (*dataset)->size());
  if (!split.ok()) return split.status();
  auto sampler = data::Sampler::Create(spec, static_cast<int64_t>(split->training.size()));
  if (!sampler.ok()) return sampler.status();
  auto model = model::CreateModel(spec, (*dataset)->shape());
  if (!model.ok()) return model.status();
  auto optimizer = model::CreateOptimizer(spec.optimizer(), (*model)->Parameters());
  return Workload{spec,
                  *std::move(dataset),
                  *std::move(split),
                  *std::move(sampler),
                  *std::move(model),
                  std::move(optimizer)};
}

uint64_t HashOf(const Workload& workload) {
  ddp::Sha256 sha256;
  sha256.AddText(workload.spec.SerializeAsString());
  sha256.AddText(workload.dataset->fingerprint());
  sha256.AddText(kVersion);
  sha256.AddText(LibraryVersions());
  sha256.AddText(KindOfCpu());
  const ddp::Sha256::Digest digest = sha256.Finish();
  uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

}  // namespace tandem::trainer
