#pragma once

#include <cstdint>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"

namespace tandem::ddp {

// Begins every rank's slot of an exchange of sums, and is compared before the sums are used: a rank
// that left out a step must become an error, not a wrong gradient.
struct ExchangeHeader {
  // In place of a bucket's index: what leaf_tallies.h sums.
  static constexpr uint32_t kStepTallies = 0xffffffff;
  static constexpr uint32_t kEvaluationTallies = 0xfffffffe;
  // Plus the number of the operation: what leaf_fold.h folds.
  static constexpr uint32_t kFirstFold = 0x80000000;
  static constexpr uint32_t kMaxFolds = 0x40000000;

  uint64_t job_hash = 0;
  uint64_t step = 0;
  uint64_t elements = 0;
  uint32_t bucket = 0;
  uint32_t logical_ranks = 0;
  LogicalRange leaves = {};
  uint8_t reserved[24] = {};  // keeps what follows aligned to a cache line

  friend bool operator==(const ExchangeHeader&, const ExchangeHeader&) = default;
};
static_assert(sizeof(ExchangeHeader) == 64);

// Which exchange it begins, for messages: "gradient bucket 3 of step 7".
std::string PlaceOf(const ExchangeHeader& header);

//   FailedPrecondition  `received` is not `expected`: names the sender, both steps and what
//   differs.
absl::Status CheckHeader(Rank sender, const ExchangeHeader& expected,
                         const ExchangeHeader& received);

}  // namespace tandem::ddp
