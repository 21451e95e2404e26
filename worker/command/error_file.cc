#include "worker/command/error_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/utf8.h"

namespace tandem::command {
namespace {

using Json = nlohmann::json;

// The end of a call stack is what people look for.
constexpr size_t kMaxLines = 20;
// Of the message, which is shown on one line.
constexpr size_t kMaxMessageBytes = 4096;

std::string StringAt(const Json& value, const Json::json_pointer& place) {
  return value.contains(place) && value[place].is_string() ? value[place].get<std::string>() : "";
}

}  // namespace

std::optional<v1::RankFailure> ParseErrorFile(absl::string_view text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::string message = StringAt(file, Json::json_pointer("/message/message"));
  if (message.empty()) message = StringAt(file, Json::json_pointer("/message"));
  if (message.empty()) return std::nullopt;
  v1::RankFailure failure;
  failure.set_code(v1::CAUSE_CODE_RANK_ERROR);
  failure.set_message(ReplaceInvalidUtf8(message.substr(0, kMaxMessageBytes)));
  const std::string stack = StringAt(file, Json::json_pointer("/message/extraInfo/py_callstack"));
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripTrailingAsciiWhitespace(stack), '\n', absl::SkipEmpty());
  for (size_t i = lines.size() - std::min(lines.size(), kMaxLines); i < lines.size(); ++i) {
    failure.add_last_lines(ReplaceInvalidUtf8(lines[i]));
  }
  return failure;
}

}  // namespace tandem::command
