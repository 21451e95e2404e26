#include "client/help_format.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tandem::client {
namespace {

std::string Wrapped(const std::string& text, size_t width) {
  std::string wrapped;
  size_t used = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const bool fits = used + 1 + word.size() <= width;
    if (used > 0) wrapped += fits ? ' ' : '\n';
    used = used > 0 && fits ? used + 1 + word.size() : word.size();
    absl::StrAppend(&wrapped, word);
  }
  return wrapped;
}

}  // namespace

std::vector<std::string> ShownNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(absl::StrCat("-", name));
  for (const std::string& name : option.get_lnames()) {
    if (!absl::StrContains(name, "_")) names.push_back(absl::StrCat("--", name));
  }
  return names;
}

std::string HelpFormat::make_option_name(const CLI::Option* option, bool is_positional) const {
  return is_positional ? Formatter::make_option_name(option, true)
                       : absl::StrJoin(ShownNames(*option), ",");
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  constexpr size_t kColumns = 80;
  return Wrapped(option->get_description(), kColumns - get_column_width());
}

}  // namespace tandem::client
