#include "client/program/shown_output.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tandem::client {
namespace {

constexpr uint32_t kStdout = 1;
constexpr uint32_t kStderr = 2;

bool ParseSum(absl::string_view text, uint32_t* sum) {
  return absl::SimpleAtoi(text, sum) && *sum <= (kStdout | kStderr);
}

}  // namespace

absl::StatusOr<ShownOutput::Streams> ShownOutput::ParseStreams(const std::string& option,
                                                               const std::string& text) {
  Streams streams;
  if (text.empty() || ParseSum(text, &streams.of_all)) return streams;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    uint32_t rank = 0, sum = 0;
    if (!absl::SimpleAtoi(words.first, &rank) || !ParseSum(words.second, &sum)) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, ": expected 0 to 3, or RANK:N,... as in 0:3,1:1; found '", text, "'"));
    }
    streams.by_rank[rank] = sum;
  }
  return streams;
}

absl::StatusOr<ShownOutput> ShownOutput::Parse(const std::string& redirects,
                                               const std::string& tee) {
  auto redirected = ParseStreams("--redirects", redirects);
  if (!redirected.ok()) return redirected.status();
  auto teed = ParseStreams("--tee", tee);
  if (!teed.ok()) return teed.status();
  ShownOutput shown;
  shown.redirected_ = *std::move(redirected);
  shown.teed_ = *std::move(teed);
  return shown;
}

uint32_t ShownOutput::Of(const Streams& streams, uint32_t rank) {
  const auto found = streams.by_rank.find(rank);
  return found == streams.by_rank.end() ? streams.of_all : found->second;
}

bool ShownOutput::Shows(uint32_t rank, v1::LogStream stream) const {
  const uint32_t bit = stream == v1::LOG_STREAM_STDERR ? kStderr : kStdout;
  const bool is_redirected = (Of(redirected_, rank) & bit) != 0;
  return !is_redirected || (Of(teed_, rank) & bit) != 0;
}

}  // namespace tandem::client
