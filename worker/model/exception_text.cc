#include "worker/model/exception_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "c10/util/Exception.h"

namespace tandem::model {

std::string OneLine(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  absl::string_view view = absl::StripAsciiWhitespace(text);
  // The interpreter puts the cause below a listing of the source.
  if (absl::ConsumePrefix(&view, "The following operation failed in the TorchScript interpreter")) {
    return std::string(view.substr(view.rfind('\n') + 1));
  }
  return std::string(view.substr(0, view.find('\n')));
}

}  // namespace tandem::model
