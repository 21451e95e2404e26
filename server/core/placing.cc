#include "server/core/placing.h"

#include <algorithm>
#include <cstddef>

namespace tandem::core {
namespace {

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

}  // namespace

std::vector<Placement> TakeSlots(std::vector<WorkerSlots>& workers, size_t wanted) {
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

}  // namespace tandem::core
