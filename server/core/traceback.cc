#include "server/core/traceback.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tandem::core {
namespace {

constexpr absl::string_view kBeginning = "Traceback (most recent call last):";
constexpr absl::string_view kCall = "  File \"";

absl::string_view WithoutRank(absl::string_view line) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "[rank")) return line;
  while (!rest.empty() && absl::ascii_isdigit(rest.front())) rest.remove_prefix(1);
  return absl::ConsumePrefix(&rest, "]: ") ? rest : line;
}

bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](absl::string_view word) { return absl::StrContains(text, word); });
}

}  // namespace

std::string ExceptionIn(const google::protobuf::RepeatedPtrField<std::string>& lines) {
  bool in_traceback = false;
  std::string exception;
  for (const std::string& text : lines) {
    const absl::string_view line = WithoutRank(text);
    // Of a long one the beginning may be missing.
    if (line == kBeginning || absl::StartsWith(line, kCall)) {
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
  // Of Gloo, of NCCL and of the c10d store; other libraries have connections too.
  return ContainsAny(exception, {"gloo", "NCCL", "c10d", "TCPStore", "torch.distributed"}) &&
         ContainsAny(exception, {"Connection closed by peer", "Connection reset by peer",
                                 "Broken pipe", "Connection was likely closed",
                                 "remote process exited", "communicator was aborted"});
}

}  // namespace tandem::core
