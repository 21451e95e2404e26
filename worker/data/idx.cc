#include "worker/data/idx.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/safetensors/tensor_info.h"

namespace tandem::data {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr size_t kSizeBytes = 4;
constexpr char kUnsignedByte = 8;

int64_t BigEndian32(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes.substr(0, kSizeBytes))
    value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// Takes the header off the front of `bytes`; the array has no bytes yet.
absl::StatusOr<ArrayView> TakeHeader(absl::string_view* bytes, size_t dimensions,
                                     absl::string_view place) {
  const auto refuse = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", why...));
  };
  if (bytes->size() < kMagicBytes || (*bytes)[0] != 0 || (*bytes)[1] != 0) {
    return refuse("is not in the format of MNIST");
  }
  if ((*bytes)[2] != kUnsignedByte) return refuse("holds other numbers than unsigned bytes");
  const size_t found = static_cast<uint8_t>((*bytes)[3]);
  if (found != dimensions) return refuse("has ", found, " dimensions instead of ", dimensions);
  bytes->remove_prefix(kMagicBytes);
  if (bytes->size() < dimensions * kSizeBytes) return refuse("ends within its header");
  std::vector<int64_t> shape;
  for (size_t i = 0; i < dimensions; ++i)
    shape.push_back(BigEndian32(bytes->substr(i * kSizeBytes)));
  bytes->remove_prefix(dimensions * kSizeBytes);
  if (safetensors::TensorBytes("U8", shape)) {
    return ArrayView{std::string(place), "U8", std::move(shape), ""};
  }
  return refuse("the sizes in its header are too large to be true");
}

}  // namespace

absl::StatusOr<ArrayView> ParseIdx(absl::string_view bytes, size_t dimensions,
                                   absl::string_view place) {
  auto array = TakeHeader(&bytes, dimensions, place);
  if (!array.ok()) return array;
  return WithBytes(*std::move(array), bytes);
}

absl::StatusOr<uint64_t> IdxFileBytes(absl::string_view beginning, size_t dimensions,
                                      absl::string_view place) {
  absl::string_view rest = beginning;
  const auto array = TakeHeader(&rest, dimensions, place);
  if (!array.ok()) return array.status();
  return beginning.size() - rest.size() + BytesOf(*array);
}

}  // namespace tandem::data
