#include "worker/ddp/exchange_header.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tandem::ddp {
namespace {

std::string What(const ExchangeHeader& header) {
  const uint32_t fold = header.bucket - ExchangeHeader::kFirstFold;
  if (fold < ExchangeHeader::kMaxFolds) return absl::StrCat("fold ", fold);
  switch (header.bucket) {
    case ExchangeHeader::kStepTallies:
      return "the tallies";
    case ExchangeHeader::kEvaluationTallies:
      return "the evaluation";
    default:
      return absl::StrCat("gradient bucket ", header.bucket);
  }
}

std::string Constants(const ExchangeHeader& header) {
  return absl::StrFormat("%d elements, logical ranks %d to %d of %d, job hash %016x",
                         header.elements, header.leaves.begin, header.leaves.end,
                         header.logical_ranks, header.job_hash);
}

}  // namespace

std::string PlaceOf(const ExchangeHeader& header) {
  return absl::StrFormat("%s of step %d", What(header), header.step);
}

absl::Status CheckHeader(Rank sender, const ExchangeHeader& expected,
                         const ExchangeHeader& received) {
  if (received == expected) return absl::OkStatus();
  const bool same_place = received.step == expected.step && received.bucket == expected.bucket;
  const std::string difference =
      same_place
          ? absl::StrFormat(" with %s instead of %s", Constants(received), Constants(expected))
          : "";
  return absl::FailedPreconditionError(absl::StrFormat(
      "rank %d sent %s%s while this rank is at %s; see the log of rank %d", sender.value(),
      PlaceOf(received), difference, PlaceOf(expected), sender.value()));
}

}  // namespace tandem::ddp
