#include "server/core/traceback.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tandem::core {
namespace {

constexpr absl::string_view kBeginning = "Traceback (most recent call last):";

absl::string_view WithoutRank(absl::string_view line) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "[rank")) return line;
  while (!rest.empty() && absl::ascii_isdigit(rest.front())) rest.remove_prefix(1);
  return absl::ConsumePrefix(&rest, "]: ") ? rest : line;
}

}  // namespace

std::string ExceptionIn(const google::protobuf::RepeatedPtrField<std::string>& lines) {
  bool in_traceback = false;
  std::string exception;
  for (const std::string& text : lines) {
    const absl::string_view line = WithoutRank(text);
    if (line == kBeginning) {
      in_traceback = true;
    } else if (in_traceback && !line.empty() && !absl::ascii_isspace(line.front())) {
      // The calls above it are indented.
      exception = std::string(line);
      in_traceback = false;
    }
  }
  return exception;
}

bool SaysThatPeerIsGone(const std::string& exception) {
  // Of Gloo, of NCCL, and of the c10d store.
  constexpr std::array<absl::string_view, 6> kWords = {"Connection closed by peer",
                                                       "Connection reset by peer",
                                                       "remote process exited",
                                                       "NCCL communicator was aborted",
                                                       "Broken pipe",
                                                       "Connection was likely closed"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](absl::string_view words) { return absl::StrContains(exception, words); });
}

}  // namespace tandem::core
