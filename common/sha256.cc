#include "common/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace tandem {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::AddBytes(const void* data, size_t size) {
  EVP_DigestUpdate(context_.get(), data, size);
}

void Sha256::AddNumber(uint64_t number) { AddBytes(&number, sizeof(number)); }

void Sha256::AddText(absl::string_view text) {
  AddNumber(text.size());
  AddBytes(text.data(), text.size());
}

Sha256::Digest Sha256::Finish() {
  Digest digest;
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  return digest;
}

std::string HexOf(const Sha256::Digest& digest) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace tandem
