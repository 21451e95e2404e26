#include "server/core/waiting_reason.h"

#include "absl/strings/str_cat.h"
#include "server/core/join_few.h"

namespace tandem::core {
namespace {

std::string Needs(const Demand& demand) {
  return absl::StrCat("needs ", demand.min < demand.max ? "at least " : "", demand.min, " ",
                      demand.device, demand.device.empty() ? "" : " ",
                      demand.min == 1 ? "slot" : "slots");
}

}  // namespace

std::string CannotFit(const Demand& demand, uint32_t usable, uint32_t all) {
  if (all == 0) {
    return absl::StrCat(Needs(demand), demand.device.empty() ? " but no worker is connected"
                                                             : " but no connected worker has any");
  }
  if (usable < all) {
    return absl::StrCat(Needs(demand), " but workers that allow commands have ", usable,
                        " (tandem-worker --allow-commands)");
  }
  return absl::StrCat(Needs(demand), " but all workers together have ", all);
}

std::string NeedsMore(const Demand& demand, uint32_t free, uint32_t all) {
  return absl::StrCat(Needs(demand), ", ", free, free == 1 ? " is" : " are", " free of ", all);
}

std::string CouldStart(const Demand& demand, uint32_t slots) {
  return absl::StrCat("could start with ", slots, " of ", demand.max,
                      " slots and waits a moment for more");
}

std::string WaitsFor(const Demand& first, const Demand& second) {
  return absl::StrCat("waits for ", first.job.value(), ", which ",
                      first.precedence.priority > second.precedence.priority
                          ? "has a higher priority"
                          : "was submitted earlier");
}

std::string RestartsIn(absl::Duration time) {
  const absl::Duration unit = absl::Seconds(time <= absl::Seconds(10) ? 1 : 10);
  return absl::StrCat("restarts in ", absl::FormatDuration(absl::Ceil(time, unit)));
}

std::string FewNames(const std::vector<JobId>& jobs) {
  return JoinFew(jobs, [](const JobId& job) { return job.value(); });
}

}  // namespace tandem::core
