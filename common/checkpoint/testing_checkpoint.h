#pragma once

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "common/checkpoint/checkpoint.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/spec/sample_spec.h"
#include "common/spec/spec.h"

// Small checkpoints for tests.
namespace tandem::checkpoint {

inline v1::CheckpointManifest SampleManifest(uint64_t step) {
  v1::CheckpointManifest manifest;
  manifest.set_step(step);
  *manifest.mutable_spec() = spec::SampleSpec();
  spec::FillDefaults(manifest.mutable_spec());
  manifest.set_data_fingerprint("f1");
  manifest.set_build("tandem 0.1.0");
  manifest.set_device("a processor");
  manifest.set_receipt(0xfedcba9876543210);
  manifest.set_parameter_digest("d1");
  manifest.add_parameters("weight");
  manifest.add_buffers("mean");
  return manifest;
}

// One parameter of two numbers, one buffer and the state of the optimizer; all bytes are `fill`.
inline absl::Status WriteSample(int fd, uint64_t step, char fill = 'a') {
  const std::string bytes(16, fill);
  const absl::string_view all = bytes;
  return WriteCheckpoint(fd, SampleManifest(step),
                         {{"weight", "F32", {1, 2}, all.substr(0, 8)},
                          {"mean", "F16", {1}, all.substr(0, 2)},
                          {"optimizer.exp_avg.weight", "F64", {2}, all}});
}

inline absl::Status WriteSample(CheckpointFolder* folder, uint64_t step, char fill = 'a') {
  return folder->Write(step, [&](int fd) { return WriteSample(fd, step, fill); });
}

// As no program should: in place.
inline void WriteText(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace tandem::checkpoint
