#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tandem::safetensors {

// A tensor to be written; its bytes are little-endian, row after row, and stay where they are.
struct TensorView {
  std::string name;
  std::string dtype;  // as in TensorInfo
  std::vector<int64_t> shape;
  absl::string_view bytes;
};

// Writes a whole file at the place where `fd` is, and leaves `fd` open. The bytes depend only on what
// is written and not on the order of `tensors`: wider dtypes come first, and then names in their
// order, so that every tensor of the file is aligned to its elements.
//   InvalidArgument  a tensor's bytes do not fit its dtype and shape, or its name is not UTF-8,
//                    stands twice or is "__metadata__"; nothing was written.
//   others           of the system call that failed; part of the file may be there.
absl::Status WriteSafetensors(int fd, std::vector<TensorView> tensors,
                              const std::map<std::string, std::string>& metadata);

}  // namespace tandem::safetensors
