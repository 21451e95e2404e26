#include "worker/ddp/exception_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "c10/util/Exception.h"

namespace tandem::ddp {

std::string OneLine(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  absl::string_view view = absl::StripAsciiWhitespace(text);
  // The interpreter puts the cause, "RuntimeError: ...", below a listing of the source.
  if (absl::ConsumePrefix(&view, "The following operation failed in the TorchScript interpreter")) {
    const size_t cause = std::min(view.rfind("Error: "), view.size());
    view.remove_prefix(view.rfind('\n', cause) + 1);
    return absl::StrReplaceAll(view, {{"\n", " "}});
  }
  return std::string(view.substr(0, view.find('\n')));
}

}  // namespace tandem::ddp
