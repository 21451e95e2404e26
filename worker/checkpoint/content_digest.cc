#include "worker/checkpoint/content_digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/escaping.h"

namespace tandem::checkpoint {
namespace {

using safetensors::TensorView;

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void AddNumber(uint64_t number) { EVP_DigestUpdate(context_.get(), &number, sizeof(number)); }
  // With its length before it, so that "ab", "c" and "a", "bc" differ.
  void AddText(absl::string_view text) {
    AddNumber(text.size());
    EVP_DigestUpdate(context_.get(), text.data(), text.size());
  }

  std::string FinishInHex() {
    std::array<char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size);
    return absl::BytesToHexString(absl::string_view(digest.data(), size));
  }

 private:
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string ContentDigest(absl::string_view text, std::vector<TensorView> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  Hash hash;
  hash.AddText(text);
  for (const TensorView& tensor : tensors) {
    hash.AddText(tensor.name);
    hash.AddText(tensor.dtype);
    hash.AddNumber(tensor.shape.size());
    for (const int64_t size : tensor.shape) hash.AddNumber(static_cast<uint64_t>(size));
    hash.AddText(tensor.bytes);
  }
  return hash.FinishInHex();
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
