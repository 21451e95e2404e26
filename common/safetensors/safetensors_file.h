#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors/tensor_info.h"

namespace tandem::safetensors {

// A file in memory, checked as a whole: its tensors cover all of it and no byte twice. Immutable, and
// safe to read from several threads.
class SafetensorsFile {
 public:
  //   InvalidArgument  the file cannot be read.
  //   DataLoss         it is not a whole safetensors file.
  // All messages start with the path.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);
  // The same for bytes that were read already; `name` stands for the path in messages.
  static absl::StatusOr<SafetensorsFile> Parse(std::string bytes, absl::string_view name);

  // In the order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // Null: there is none of that name.
  const TensorInfo* Find(absl::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Of a tensor of this file; valid as long as the file, which must not be moved meanwhile. Need not
  // be aligned.
  absl::string_view Bytes(const TensorInfo& tensor) const;

 private:
  SafetensorsFile() = default;
  absl::Status Read();
  absl::Status CheckCover() const;

  std::string bytes_;
  size_t data_ = 0;  // where the header ends
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace tandem::safetensors
