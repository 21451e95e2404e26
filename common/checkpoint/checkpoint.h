#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/safetensors/safetensors_file.h"
#include "common/safetensors/write_safetensors.h"
#include "tandem/v1/checkpoint.pb.h"

namespace tandem::checkpoint {

// A checkpoint that was found whole: a safetensors file whose metadata hold a manifest, under the key
// "tandem", and a digest of manifest and tensors, under "tandem.sha256".
struct Checkpoint {
  std::string path;
  v1::CheckpointManifest manifest;
  safetensors::SafetensorsFile file;
};

// Reads the file and compares all of it with its digest.
//   InvalidArgument  the file cannot be read, or is no checkpoint of Tandem.
//   DataLoss         it is torn or was damaged.
// All messages start with the path.
absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& path);

// Writes manifest and tensors at the place where `fd` is. Errors as WriteSafetensors.
absl::Status WriteCheckpoint(int fd, const v1::CheckpointManifest& manifest,
                             std::vector<safetensors::TensorView> tensors);

}  // namespace tandem::checkpoint
