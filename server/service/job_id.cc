#include "server/service/job_id.h"

#include <string>

#include "absl/random/distributions.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tandem::service {
namespace {

constexpr size_t kMaxNameLength = 40;
constexpr absl::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";

std::string Sanitize(absl::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kMaxNameLength)) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      out += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "job" : out;
}

}  // namespace

JobId MakeJobId(absl::string_view name, absl::BitGenRef random) {
  std::string id = absl::StrCat(Sanitize(name), "-");
  for (int i = 0; i < 6; ++i) id += kAlphabet[absl::Uniform<size_t>(random, 0, kAlphabet.size())];
  return JobId(id);
}

}  // namespace tandem::service
