#include "server/core/scheduler.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace tandem::core {
namespace {

struct Totals {
  size_t free = 0;
  size_t all = 0;
};

Totals Count(const std::vector<WorkerSlots>& workers) {
  Totals totals;
  for (const WorkerSlots& worker : workers) {
    totals.free += worker.free.size();
    totals.all += worker.total;
  }
  return totals;
}

// The worker to use next for `wanted` slots: the tightest that holds them all, else the one with
// the most.
WorkerSlots& Next(std::vector<WorkerSlots>& workers, size_t wanted) {
  const auto better = [wanted](const WorkerSlots& a, const WorkerSlots& b) {
    const bool a_holds = a.free.size() >= wanted;
    const bool b_holds = b.free.size() >= wanted;
    if (a_holds != b_holds) return a_holds;
    return a_holds ? a.free.size() < b.free.size() : a.free.size() > b.free.size();
  };
  return *std::min_element(workers.begin(), workers.end(), better);
}

// Needs at least `wanted` free slots.
std::vector<Placement> Take(std::vector<WorkerSlots>& workers, size_t wanted) {
  std::vector<Placement> ranks;
  while (ranks.size() < wanted) {
    WorkerSlots& worker = Next(workers, wanted - ranks.size());
    const auto end = worker.free.begin() +
                     static_cast<ptrdiff_t>(std::min(wanted - ranks.size(), worker.free.size()));
    for (auto slot = worker.free.begin(); slot != end; ++slot) {
      ranks.push_back({worker.worker, *slot});
    }
    worker.free.erase(worker.free.begin(), end);
  }
  return ranks;
}

std::string WhyNotNow(size_t wanted, Totals totals) {
  const std::string needs = absl::StrCat("needs ", wanted, wanted == 1 ? " slot" : " slots");
  if (totals.all == 0) return absl::StrCat(needs, " but no worker is connected");
  if (wanted > totals.all) {
    return absl::StrCat(needs, " but all workers together have ", totals.all);
  }
  return absl::StrCat(needs, ", ", totals.free, totals.free == 1 ? " is" : " are", " free of ",
                      totals.all);
}

}  // namespace

Schedule ScheduleQueue(std::vector<WorkerSlots> workers, const std::vector<Demand>& queue) {
  Schedule schedule;
  for (const Demand& demand : queue) {
    const Totals totals = Count(workers);
    if (!schedule.waits.empty()) {
      schedule.waits.push_back(
          {demand.job, absl::StrCat("waits for ", schedule.waits.back().job.value(),
                                    ", which was submitted earlier")});
    } else if (totals.free >= demand.slots) {
      schedule.starts.push_back({demand.job, Take(workers, demand.slots)});
    } else {
      schedule.waits.push_back({demand.job, WhyNotNow(demand.slots, totals)});
    }
  }
  return schedule;
}

}  // namespace tandem::core
