#include "worker/trainer/environment.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/logical_ranks.h"
#include "common/version.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

// Samples of a full global batch that fall to this rank.
int64_t SamplesPerRank(const v1::JobSpec& spec, LogicalRange range) {
  const data::Range batch = {0, spec.global_batch_size()};
  return data::PartOf(batch, range.end - 1, spec.logical_ranks()).end -
         data::PartOf(batch, range.begin, spec.logical_ranks()).begin;
}

int64_t ParameterCount(const model::Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.Parameters()) count += parameter.tensor.numel();
  return count;
}

}  // namespace

void PrintEnvironment(const v1::Prepare& assignment, const Workload& workload,
                      const RankDevice& device, std::ostream& out) {
  const v1::JobSpec& spec = workload.spec;
  const LogicalRange range =
      LogicalRangeOf(Rank(assignment.rank()), assignment.world_size(), spec.logical_ranks());
  const auto line = [&out](const char* name, const std::string& value) {
    out << absl::StrFormat("  %-14s %s\n", name, value);
  };
  out << "tandem-trainer " << kVersion << "\n";
  line("job", absl::StrFormat("%s (%s), attempt %d", assignment.job_id(), spec.name(),
                              assignment.attempt()));
  line("rank", absl::StrFormat("%d of %d, local rank %d of %d, pid %d", assignment.rank(),
                               assignment.world_size(), assignment.local_rank(),
                               assignment.local_world_size(), getpid()));
  line("logical ranks",
       absl::StrFormat("%d to %d of %d", range.begin, range.end - 1, spec.logical_ranks()));
  line("device", absl::StrCat(assignment.slot(), ", ", device.Fingerprint()));
  line("batch", absl::StrFormat("%d samples, %d of them on this rank", spec.global_batch_size(),
                                SamplesPerRank(spec, range)));
  line("seed", absl::StrCat(spec.seed()));
  line("threads", absl::StrCat(spec.threads_per_rank()));
  line("data", absl::StrFormat("%d training + %d held-out samples, sha256 %s",
                               workload.split.training.size(), workload.split.held_out.size(),
                               workload.training.dataset->fingerprint()));
  line("model", absl::StrFormat("%d parameters", ParameterCount(*workload.model)));
  line("steps", absl::StrFormat("%d, %d per epoch", workload.sampler.total_steps(),
                                workload.sampler.batches_per_epoch()));
  line("libraries",
       absl::StrCat(LibraryVersions(), device.Libraries().empty() ? "" : ", ", device.Libraries()));
  for (const std::string& variable : device.Environment()) line("environment", variable);
  out << std::flush;
}

}  // namespace tandem::trainer
