#include "client/program/program_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/spec/plain_text.h"

namespace tandem::client {
namespace {

constexpr const char* kPythonSuffix = ".py";

// "/usr/bin/python3" is "python3".
absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::string_view Stem(absl::string_view path) {
  const absl::string_view base = BaseName(path);
  const size_t dot = base.rfind('.');
  return dot == absl::string_view::npos || dot == 0 ? base : base.substr(0, dot);
}

bool IsPython(absl::string_view word) { return absl::StartsWith(BaseName(word), "python"); }

bool RunsScripts(absl::string_view word) {
  const absl::string_view base = BaseName(word);
  return IsPython(word) || base == "sh" || base == "bash";
}

std::vector<std::string> InFront(std::vector<std::string> first,
                                 const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

bool IsPlain(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

// A word that means itself to a shell.
bool IsPlainWord(absl::string_view word) {
  constexpr absl::string_view kAlsoPlain = "/=:,+@%";
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return IsPlain(c) || kAlsoPlain.find(c) != absl::string_view::npos;
  });
}

std::string ShellWord(const std::string& word) {
  if (IsPlainWord(word)) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}, {"\n", " "}}), "'");
}

}  // namespace

std::vector<std::string> WordsToStart(const std::vector<std::string>& typed, ProgramKind kind,
                                      const std::string& python) {
  const bool is_script = !typed.empty() && absl::EndsWith(typed.front(), kPythonSuffix);
  if (kind == ProgramKind::kPythonModule) return InFront({python, "-u", "-m"}, typed);
  if (kind == ProgramKind::kPythonScript || (kind == ProgramKind::kAsTyped && is_script)) {
    return InFront({python, "-u"}, typed);
  }
  return typed;
}

std::string PlainName(absl::string_view text) {
  constexpr size_t kLongest = 63;
  std::string name(text.substr(0, kLongest));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsPlain(c); }, '-');
  return name.empty() ? "program" : name;
}

std::string NameOfProgram(const std::vector<std::string>& words) {
  if (words.empty()) return PlainName("");
  if (!RunsScripts(words.front())) return PlainName(Stem(words.front()));
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const bool has_next = word + 1 != words.end();
    if (*word == "-m" && has_next && IsPython(words.front())) return PlainName(*(word + 1));
    // What follows is the program's text.
    if (*word == "-c") break;
    if (!absl::StartsWith(*word, "-")) return PlainName(Stem(*word));
  }
  return PlainName(BaseName(words.front()));
}

std::string ShellText(const std::vector<std::string>& words, size_t most) {
  constexpr absl::string_view kMore = "...";
  std::string text = absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, ShellWord(word));
  });
  if (text.size() <= most) return text;
  size_t end = most - kMore.size();
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), kMore);
}

}  // namespace tandem::client
