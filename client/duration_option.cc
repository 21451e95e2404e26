#include "client/duration_option.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

bool ParseDuration(const std::string& text, absl::Duration* duration) {
  double seconds = 0;
  const bool is_number = absl::SimpleAtod(text, &seconds);
  if (is_number) *duration = absl::Seconds(seconds);
  return (is_number || absl::ParseDuration(text, duration)) && *duration >= absl::ZeroDuration();
}

}  // namespace

CLI::Option* AddDurationOption(CLI::App* command, const std::string& name, absl::Duration* value,
                               const std::string& help) {
  const auto read = [name, value](const std::string& text) {
    if (ParseDuration(text, value)) return;
    throw CLI::ValidationError(name, "expected a duration as 90s, found " + text);
  };
  return command->add_option_function<std::string>(name, read, help)->type_name("DURATION");
}

}  // namespace tandem::client
