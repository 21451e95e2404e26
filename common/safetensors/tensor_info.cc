#include "common/safetensors/tensor_info.h"

#include <algorithm>
#include <iterator>

namespace tandem::safetensors {
namespace {

struct Dtype {
  absl::string_view name;
  uint64_t bytes;
};

constexpr Dtype kDtypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                             {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
                             {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8}};

}  // namespace

std::optional<uint64_t> ElementBytes(absl::string_view dtype) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& known) { return known.name == dtype; });
  if (found == std::end(kDtypes)) return std::nullopt;
  return found->bytes;
}

std::optional<uint64_t> TensorBytes(absl::string_view dtype, const std::vector<int64_t>& shape) {
  const std::optional<uint64_t> element = ElementBytes(dtype);
  if (!element) return std::nullopt;
  auto bytes = static_cast<int64_t>(*element);
  bool is_empty = false;
  for (const int64_t size : shape) {
    is_empty |= size == 0;
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) {
      return std::nullopt;
    }
  }
  return is_empty ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace tandem::safetensors
