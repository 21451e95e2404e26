#include "client/completion_script.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/help_format.h"
#include "common/spec/reference.h"

namespace tandem::client {
namespace {

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // understood, and not told of
    for (std::string& name : ShownNames(*option)) flags.push_back(std::move(name));
  }
  return flags;
}

std::string NamesOf(const std::vector<const CLI::App*>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* out, const CLI::App* command) {
    absl::StrAppend(out, command->get_name());
  });
}

// The argument that files stand for as well as jobs.
constexpr const char* kJobOrFile = "JOB|FILE";

bool Takes(const CLI::App& command, const std::string& positional) {
  return command.get_option_no_throw(positional) != nullptr;
}

// What a shell does to have what `arguments` make tandem print.
using Ask = std::function<std::string(absl::string_view arguments)>;

// Words that can stand where the command's argument does. Nobody waits for a coordinator between two
// keys.
std::string WordsFor(const CLI::App& command, const Ask& ask) {
  if (Takes(command, "JOB") || Takes(command, kJobOrFile)) return ask("list --ids --retry-for 0");
  if (Takes(command, "WORKER")) return ask("workers --names --retry-for 0");
  if (Takes(command, "SHELL")) return "bash zsh fish";
  if (!Takes(command, "KEY")) return "";
  return absl::StrJoin(spec::AllKeys(), " ", [](std::string* out, const spec::KeyReference& key) {
    absl::StrAppend(out, key.key);
  });
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// One branch of the shells' `case` for each command, in the form that `format` gives it.
template <typename Format>
std::string ForEachCommand(const CLI::App& app, Format format) {
  std::string text;
  for (const CLI::App* command : CommandsOf(app)) absl::StrAppend(&text, format(*command));
  return text;
}

// Both shells split a line into words and know the one under the cursor; the rest is alike. $program
// is tandem as it was typed, which need not be in the PATH.
std::string Branches(const CLI::App& app) {
  const Ask ask = [](absl::string_view arguments) {
    return absl::StrCat("$(\"$program\" ", arguments, " 2>/dev/null)");
  };
  return ForEachCommand(app, [&](const CLI::App& command) {
    return absl::StrCat("    ", command.get_name(), ") flags=\"",
                        absl::StrJoin(FlagsOf(command), " "), "\"; words=\"",
                        WordsFor(command, ask),
                        Takes(command, kJobOrFile) ? "\"; files=yes ;;\n" : "\" ;;\n");
  });
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat(R"(# bash completion of tandem: source <(tandem completion bash)
_tandem() {
  local current=${COMP_WORDS[COMP_CWORD]} command= word flags= words= files=
  local program=${COMP_WORDS[0]/#\~/$HOME}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " )",
                      NamesOf(CommandsOf(app)), R"( " in *" $word "*) command=$word; break ;; esac
  done
  case $command in
    '') words=")",
                      NamesOf(CommandsOf(app)), "\" ;;\n", Branches(app), R"(  esac
  flags="$flags )",
                      absl::StrJoin(FlagsOf(app), " "), R"("
  COMPREPLY=()
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; [[ -z $files ]] || compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _tandem tandem
)");
}

std::string ZshCompletion(const CLI::App& app) {
  return absl::StrCat(R"(#compdef tandem
# zsh completion of tandem: source <(tandem completion zsh)
_tandem() {
  local command= word flags= words_= files=
  local program=${words[1]/#\~/$HOME}
  for word in "${(@)words[2,CURRENT-1]}"; do
    case " )",
                      NamesOf(CommandsOf(app)), R"( " in *" $word "*) command=$word; break ;; esac
  done
  case $command in
    '') words_=")",
                      NamesOf(CommandsOf(app)), "\" ;;\n",
                      absl::StrReplaceAll(Branches(app), {{"words=", "words_="}}), R"(  esac
  flags="$flags )",
                      absl::StrJoin(FlagsOf(app), " "), R"("
  if [[ ${words[CURRENT]} == -* ]]; then
    compadd -- ${=flags}
  elif [[ -n $words_ ]]; then
    compadd -- ${=words_}
    [[ -z $files ]] || _files
  else
    _files
  fi
}
compdef _tandem tandem
)");
}

std::string FishCompletion(const CLI::App& app) {
  std::string script = "# fish completion of tandem: tandem completion fish | source\n";
  for (const CLI::App* command : CommandsOf(app)) {
    absl::StrAppend(&script, "complete -c tandem -n __fish_use_subcommand -f -a ",
                    command->get_name(), " -d ", Quoted(command->get_description()), "\n");
    const std::string when =
        absl::StrCat(" -n '__fish_seen_subcommand_from ", command->get_name(), "'");
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : ShownNames(*option)) {
        if (option->get_group().empty() || !absl::StartsWith(name, "--")) continue;
        absl::StrAppend(&script, "complete -c tandem", when, " -l ", name.substr(2), " -d ",
                        Quoted(option->get_description()), "\n");
      }
    }
    const std::string words = WordsFor(*command, [](absl::string_view arguments) {
      return absl::StrCat("(set -l typed (commandline -opc); command $typed[1] ", arguments,
                          " 2>/dev/null)");
    });
    if (words.empty()) continue;
    absl::StrAppend(&script, "complete -c tandem", when, Takes(*command, kJobOrFile) ? "" : " -f",
                    " -a '", words, "'\n");
  }
  return script;
}

}  // namespace tandem::client
