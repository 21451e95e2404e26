#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/atomic_file.h"
#include "common/checkpoint/checkpoint.h"

namespace tandem::checkpoint {

// The checkpoints of one job: `step-000000000120.safetensors` and so on, one a step. There should be
// one writer; two that write the same step leave the file of one of them, whole. That is no harm
// where the older one should have gone: the same job has the same bits at the same step.
class CheckpointFolder {
 public:
  // Nothing is done before the first call. `calls` outlives it.
  explicit CheckpointFolder(std::string path, FileCalls& calls = FileCalls::System());

  const std::string& path() const { return path_; }
  std::string FileOf(uint64_t step) const;

  // Of the files that are named like a checkpoint, rising; none where the folder is missing.
  //   others  by errno; the message names the folder.
  absl::StatusOr<std::vector<uint64_t>> Steps() const;

  // Writes the file of `step` from what `write` writes, and makes the folder where it is missing.
  // Killed at any moment, it leaves every earlier checkpoint as it was. Errors as
  // WriteFileAtomically.
  absl::Status Write(uint64_t step, absl::FunctionRef<absl::Status(int fd)> write);

  // Removes all but the newest `keep`, never the one of `step`, and what killed writers have left.
  //   others  by errno; the message names the file.
  absl::Status Prune(uint32_t keep, uint64_t step);

  struct Newest {
    Checkpoint checkpoint;
    // Why each newer file was not taken; begins with its path.
    std::vector<std::string> skipped;
  };

  // The newest that is whole and is what its name says.
  //   NotFound  there is none; the message says why those that looked like one were skipped.
  //   others    as Steps.
  absl::StatusOr<Newest> OpenNewest() const;

 private:
  const std::string path_;
  FileCalls& calls_;
};

}  // namespace tandem::checkpoint
