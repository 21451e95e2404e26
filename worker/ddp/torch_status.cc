#include "worker/ddp/torch_status.h"

#include <c10/util/Exception.h>
#include <gloo/common/error.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/ddp/exception_text.h"

namespace tandem::ddp {
namespace {

// Neither library has a type for time-outs that is thrown throughout.
bool IsTimeout(absl::string_view text) {
  return absl::StrContains(text, "timed out") || absl::StrContains(text, "Timed out") ||
         absl::StrContains(text, "timeout");
}

bool IsNetworkError(const std::exception& error) {
  return dynamic_cast<const gloo::IoException*>(&error) != nullptr ||
         dynamic_cast<const c10::DistNetworkError*>(&error) != nullptr;
}

}  // namespace

absl::Status StatusFromException(const std::exception& error, absl::string_view what_failed) {
  const std::string line = OneLine(error);
  const std::string message = absl::StrCat(what_failed, ": ", line);
  if (absl::StrContains(line, "deterministic implementation")) {
    return absl::InvalidArgumentError(absl::StrCat(
        message, " (the model uses an operator whose result is not the same every time)"));
  }
  if (IsTimeout(line)) return absl::DeadlineExceededError(message);
  if (IsNetworkError(error)) return absl::UnavailableError(message);
  return absl::InternalError(message);
}

}  // namespace tandem::ddp
