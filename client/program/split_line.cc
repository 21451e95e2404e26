#include "client/program/split_line.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"

namespace tandem::client {
namespace {

constexpr const char* kMark = "--";
constexpr std::array kTakeProgramBehindMark = {"run", "submit", "verify"};
constexpr const char* kTakesTorchrunsLine = "torchrun";

using Words = std::vector<std::string>;

bool TakesValue(const CLI::App& app, const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_min() > 0;
}

Words::const_iterator ScriptIn(const CLI::App& app, const CLI::App& command,
                               Words::const_iterator begin, Words::const_iterator end) {
  for (auto word = begin; word != end; ++word) {
    if (*word == kMark || !absl::StartsWith(*word, "-")) return word;
    const bool value_is_next =
        word->find('=') == std::string::npos && TakesValue(app, command, *word);
    if (value_is_next && word + 1 != end) ++word;
  }
  return end;
}

SplitLine CutAt(const Words& words, Words::const_iterator cut) {
  SplitLine line;
  line.ours = Words(words.begin(), cut);
  if (cut == words.end()) return line;
  line.program = Words(*cut == kMark ? cut + 1 : cut, words.end());
  return line;
}

}  // namespace

bool TakesProgram(const std::string& command) {
  return std::count(kTakeProgramBehindMark.begin(), kTakeProgramBehindMark.end(), command) > 0;
}

SplitLine SplitAtProgram(const CLI::App& app, const Words& words) {
  for (auto word = words.begin(); word != words.end() && *word != kMark; ++word) {
    if (*word == kTakesTorchrunsLine) {
      return CutAt(words, ScriptIn(app, *app.get_subcommand(*word), word + 1, words.end()));
    }
    if (TakesProgram(*word)) return CutAt(words, std::find(word, words.end(), kMark));
  }
  return {words, std::nullopt};
}

}  // namespace tandem::client
