#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The safetensors format: 8 bytes with the length of a header, the header in JSON, and the tensors'
// bytes without gaps, little-endian and row after row. https://huggingface.co/docs/safetensors
namespace tandem::safetensors {

// One tensor of a file.
struct TensorInfo {
  std::string name;
  std::string dtype;           // "F64", "F32", "F16", "BF16", "I64" and so on, "U8", "BOOL"
  std::vector<int64_t> shape;  // none below 0; empty for a single number
  uint64_t begin = 0;          // where its bytes are, counted from the end of the header
  uint64_t end = 0;

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// Key of the header under which free text is kept instead of a tensor.
inline constexpr absl::string_view kMetadataKey = "__metadata__";
// Longer headers are refused, here and by other implementations.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// What stands before the header.
inline constexpr uint64_t kLengthBytes = 8;

// Bytes of one element; none: there is no such dtype.
std::optional<uint64_t> ElementBytes(absl::string_view dtype);

// Bytes of a whole tensor; none: there is no such dtype or shape, or the sizes other than 0 multiply
// to more than int64 holds. So whoever multiplies some sizes of a shape that has bytes cannot overflow.
std::optional<uint64_t> TensorBytes(absl::string_view dtype, const std::vector<int64_t>& shape);

}  // namespace tandem::safetensors
