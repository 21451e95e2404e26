#include "server/core/device_kinds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/slot_request.h"

namespace tandem::core {
namespace {

// How many slots of each kind there are for a job that has none yet.
using SlotsOfKinds = std::map<std::string, uint32_t>;

std::string Best(const SlotsOfKinds& kinds) {
  const auto worse = [](const auto& a, const auto& b) {
    return std::tuple(a.first != kCpuKind, a.second) < std::tuple(b.first != kCpuKind, b.second);
  };
  const auto best = std::max_element(kinds.begin(), kinds.end(), worse);
  return best == kinds.end() ? "" : best->first;
}

}  // namespace

std::map<std::string, SchedulerState> ByKind(SchedulerState state) {
  std::map<std::string, SchedulerState> parts;
  SlotsOfKinds all = std::move(state.away), for_commands;
  for (WorkerSlots& worker : state.workers) {
    all[worker.device] += worker.total;
    if (worker.allows_commands) for_commands[worker.device] += worker.total;
    parts[worker.device].workers.push_back(std::move(worker));
  }
  const std::string for_any = Best(all);
  const std::string for_command = for_commands.empty() ? for_any : Best(for_commands);
  for (Demand& demand : state.queue) {
    if (demand.device.empty()) demand.device = demand.is_command ? for_command : for_any;
    parts[demand.device].queue.push_back(std::move(demand));
  }
  for (Holding& holding : state.running)
    parts[holding.device].running.push_back(std::move(holding));
  return parts;
}

}  // namespace tandem::core
