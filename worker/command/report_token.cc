#include "worker/command/report_token.h"

#include <sys/random.h>

#include <cstdlib>

namespace tandem::command {
namespace {

constexpr size_t kBytes = 16;

}  // namespace

std::string NewReportToken() {
  std::string token(kBytes, '\0');
  // Cannot fail for so few bytes.
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(kBytes)) std::abort();
  return token;
}

bool IsSameToken(absl::string_view a, absl::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace tandem::command
