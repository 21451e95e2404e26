#include "server/core/placing.h"

#include <algorithm>
#include <cstddef>

namespace tandem::core {
namespace {

// The worker to use next for `wanted` slots: the tightest that holds them all, else the one with
// the most.
WorkerSlots& Next(std::vector<WorkerSlots>& workers, size_t wanted, bool is_command) {
  const auto usable = [is_command](const WorkerSlots& worker) {
    return is_command && !worker.allows_commands ? 0 : worker.free.size();
  };
  const auto better = [&](const WorkerSlots& a, const WorkerSlots& b) {
    const bool a_holds = usable(a) >= wanted, b_holds = usable(b) >= wanted;
    if (a_holds != b_holds) return a_holds;
    // Others leave those workers to commands where that splits nothing.
    const bool a_spares = is_command || !a.allows_commands;
    const bool b_spares = is_command || !b.allows_commands;
    if (a_holds && a_spares != b_spares) return a_spares;
    if (usable(a) != usable(b)) return a_holds ? usable(a) < usable(b) : usable(a) > usable(b);
    return a_spares && !b_spares;
  };
  return *std::min_element(workers.begin(), workers.end(), better);
}

}  // namespace

std::vector<Placement> TakeSlots(std::vector<WorkerSlots>& workers, size_t wanted,
                                 bool is_command) {
  std::vector<Placement> ranks;
  while (ranks.size() < wanted) {
    WorkerSlots& worker = Next(workers, wanted - ranks.size(), is_command);
    if (worker.free.empty() || (is_command && !worker.allows_commands)) return {};
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
