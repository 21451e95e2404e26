#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace tandem {

// SHA-256 of what was added, in order.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  Sha256();
  ~Sha256();

  void AddBytes(const void* data, size_t size);
  void AddNumber(uint64_t number);
  // With its length before it, so that "ab", "c" and "a", "bc" differ.
  void AddText(absl::string_view text);

  // Ends it: nothing more may be added.
  Digest Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  const std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// 64 lower-case hexadecimal digits.
std::string HexOf(const Sha256::Digest& digest);

}  // namespace tandem
