#include "worker/trainer/self_test_outcome.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tandem::trainer {
namespace {

v1::SelfTestReport Together(v1::SelfTestReport first, const v1::SelfTestReport& other) {
  for (int i = 0; i < first.cases_size() && i < other.cases_size(); ++i) {
    v1::SelfTestCase& one = *first.mutable_cases(i);
    one.set_values(one.values() + other.cases(i).values());
    one.set_different(one.different() + other.cases(i).different());
    if (one.first_difference().empty()) one.set_first_difference(other.cases(i).first_difference());
  }
  return first;
}

}  // namespace

absl::StatusOr<v1::SelfTestReport> Outcome(const absl::StatusOr<v1::SelfTestReport>& first,
                                           const absl::StatusOr<v1::SelfTestReport>& other) {
  if (first.ok() && other.ok()) return Together(*first, *other);
  const std::string of_first = absl::StrCat("rank 0: ", first.status().message());
  const std::string of_other = absl::StrCat("rank 1: ", other.status().message());
  if (first.ok()) return absl::Status(other.status().code(), of_other);
  if (other.ok()) return absl::Status(first.status().code(), of_first);
  return absl::Status(first.status().code(), absl::StrCat(of_first, "; ", of_other));
}

}  // namespace tandem::trainer
