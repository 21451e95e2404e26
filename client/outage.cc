#include "client/outage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tandem::client {

void Outage::End() {
  if (!began_) return;
  on_trouble_(absl::StrCat("the coordinator at ", address_, " is back"));
  began_.reset();
  backoff_.Reset();
}

absl::Status Outage::WaitForNextTry(const absl::Status& failure) {
  const absl::Time now = absl::Now();
  if (!began_ && options_.patience > absl::ZeroDuration()) {
    on_trouble_(absl::StrCat("the coordinator at ", address_, " does not answer; trying again for ",
                             absl::FormatDuration(options_.patience)));
  }
  began_ = began_.value_or(now);
  if (now >= *began_ + options_.patience) return failure;
  if (now >= options_.limits.deadline) return absl::DeadlineExceededError("no answer in time");
  const absl::Duration delay = std::min(backoff_.Next(), options_.limits.deadline - now);
  const bool interrupted = options_.limits.interrupts->WaitFor(delay, options_.limits.handled);
  return interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
}

}  // namespace tandem::client
