#include "client/usage_error.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/program/split_line.h"
#include "common/spec/nearest.h"
#include "common/spec/plain_text.h"

namespace tandem::client {
namespace {

constexpr const char* kSeeHelp = "; see tandem --help";

bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// The parser keeps what is left over per command, and backwards.
std::vector<std::string> Leftovers(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> remaining = app.remaining(true);
  std::vector<std::string> typed;
  for (const std::string& argument : arguments) {
    const auto found = std::find(remaining.begin(), remaining.end(), argument);
    if (found == remaining.end()) continue;
    typed.push_back(argument);
    remaining.erase(found);
  }
  return typed;
}

void AddOptionNames(const CLI::App& app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names->push_back("--" + name);
  }
}

std::string DidYouMean(const std::optional<std::string>& nearest) {
  return nearest ? absl::StrCat(", did you mean ", *nearest, "?") : kSeeHelp;
}

std::string UnknownOption(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  AddOptionNames(app, &names);
  for (const CLI::App* command : app.get_subcommands()) AddOptionNames(*command, &names);
  const std::string shown = spec::Excerpt(name);
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return absl::StrCat("option ", shown, " belongs behind its command", kSeeHelp);
  }
  const bool is_long = absl::StartsWith(name, "--");
  return absl::StrCat("unknown option ", shown,
                      DidYouMean(is_long ? spec::NearestWord(name, names) : std::nullopt));
}

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app.get_subcommands(all)) names.push_back(command->get_name());
  return absl::StrCat("unknown command ", spec::Excerpt(word),
                      DidYouMean(spec::NearestWord(word, names)));
}

}  // namespace

std::string DescribeMistake(const CLI::App& app, const CLI::Error& error,
                            const std::vector<std::string>& arguments) {
  const std::vector<std::string> leftovers = Leftovers(app, arguments);
  const bool has_command = !app.get_subcommands().empty();
  if (leftovers.empty()) {
    return absl::StrCat(absl::StripAsciiWhitespace(error.what()), kSeeHelp);
  }
  const auto option = std::find_if(leftovers.begin(), leftovers.end(), IsOption);
  if (!has_command && option != leftovers.begin()) return UnknownCommand(app, leftovers[0]);
  if (option != leftovers.end()) return UnknownOption(app, *option);
  const bool may_be_program =
      has_command && TakesProgram(app.get_subcommands().front()->get_name());
  return absl::StrCat("not expected: ", spec::Excerpt(absl::StrJoin(leftovers, " ")),
                      may_be_program ? "; a program stands behind --" : "", kSeeHelp);
}

}  // namespace tandem::client
