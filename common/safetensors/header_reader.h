#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors/tensor_info.h"

namespace tandem::safetensors {

struct Header {
  std::vector<TensorInfo>
      tensors;  // as the JSON lists them; each as long as its dtype and shape say
  std::map<std::string, std::string> metadata;
};

// Reads the JSON of a header. Knows nothing of how long the file is.
//   DataLoss  it is no JSON, or not that of a header; says which tensor and what is wrong.
absl::StatusOr<Header> ReadHeader(absl::string_view json);

}  // namespace tandem::safetensors
