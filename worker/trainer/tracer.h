#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_descriptor.h"
#include "common/logical_ranks.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/spec.pb.h"
#include "tandem/v1/trace.pb.h"
#include "worker/ddp/leaf_tallies.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::trainer {

// Writes down what this rank does, for `tandem verify` (trace.proto). Not thread-safe.
class Tracer {
 public:
  // Who writes, and what does not change.
  struct Identity {
    Rank rank;
    uint32_t world_size = 1;
    LogicalRange range;
    uint32_t logical_ranks = 1;
    uint64_t training_samples = 0;
    std::string device;  // its kind
  };

  // Begins the file of this rank in the folder, replacing one of an earlier attempt. `tensors`: before
  // the first step.
  //   InvalidArgument  the folder or file cannot be made; the message names trace.dir.
  static absl::StatusOr<std::unique_ptr<Tracer>> Create(
      const v1::Trace& spec, const Identity& identity,
      const std::vector<ddp::NamedTensor>& tensors);

  // One logical rank of the step under way, right after its generator was seeded and its forward run.
  void OnLeaf(LogicalRank logical_rank, absl::Span<const int64_t> samples, uint64_t first_draw,
              const std::optional<ddp::Tally>& tally);
  // The step is over. `tensors`: as this rank has them now.
  //   ResourceExhausted, Internal  the file cannot be written.
  absl::Status OnStep(const v1::StepSample& sample, double gradient_norm,
                      const std::vector<ddp::NamedTensor>& tensors);

 private:
  Tracer(const v1::Trace& spec, std::string path, FileDescriptor file)
      : spec_(spec), path_(std::move(path)), file_(std::move(file)) {}

  absl::Status Write(const google::protobuf::MessageLite& message);
  std::string ValuesAt(uint64_t step, const std::vector<ddp::NamedTensor>& tensors) const;

  const v1::Trace spec_;
  const std::string path_;
  const FileDescriptor file_;
  v1::StepTrace step_;  // under way
};

}  // namespace tandem::trainer
