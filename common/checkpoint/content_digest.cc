#include "common/checkpoint/content_digest.h"

#include <algorithm>

#include "common/sha256.h"

namespace tandem::checkpoint {
using safetensors::TensorView;

std::string ContentDigest(absl::string_view text, std::vector<TensorView> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  Sha256 hash;
  hash.AddText(text);
  for (const TensorView& tensor : tensors) {
    hash.AddText(tensor.name);
    hash.AddText(tensor.dtype);
    hash.AddNumber(tensor.shape.size());
    for (const int64_t size : tensor.shape) hash.AddNumber(static_cast<uint64_t>(size));
    hash.AddText(tensor.bytes);
  }
  return HexOf(hash.Finish());
}

std::vector<TensorView> ViewsOf(const safetensors::SafetensorsFile& file) {
  std::vector<TensorView> views;
  for (const auto& tensor : file.tensors()) views.push_back(ViewOf(file, tensor));
  return views;
}

TensorView ViewOf(const safetensors::SafetensorsFile& file, const safetensors::TensorInfo& tensor) {
  return {tensor.name, tensor.dtype, tensor.shape, file.Bytes(tensor)};
}

}  // namespace tandem::checkpoint
