#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/atomic_file.h"
#include "common/checkpoint/checkpoint.h"

namespace tandem::checkpoint {

struct ExportedWeights {
  uint64_t tensors = 0;     // parameters and buffers
  uint64_t parameters = 0;  // numbers in the parameters
};

// Writes the parameters and buffers of the checkpoint, and nothing else of it, to the file `path`: under
// their names, as Python's safetensors package loads them into a module of PyTorch.
//   DataLoss  the manifest names a tensor that the checkpoint has not.
//   others    as WriteFileAtomically.
absl::StatusOr<ExportedWeights> ExportWeights(const Checkpoint& checkpoint, const std::string& path,
                                              IfExists if_exists);

}  // namespace tandem::checkpoint
