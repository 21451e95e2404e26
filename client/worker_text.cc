#include "client/worker_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/proto_time.h"

namespace tandem::client {
namespace {

std::string SlotUse(const v1::SlotStatus& slot) {
  if (slot.job_id().empty()) return "free";
  return absl::StrCat(slot.job_id(), " rank ", slot.rank());
}

// "NVIDIA H200, 139 GiB".
std::string DeviceText(const v1::SlotStatus& slot) {
  constexpr double kGiB = uint64_t{1} << 30;
  std::string text = slot.model();
  if (slot.memory_bytes() == 0) return text;
  const double size = static_cast<double>(slot.memory_bytes()) / kGiB;
  absl::StrAppend(&text, text.empty() ? "" : ", ",
                  size < 10 ? absl::StrFormat("%.1f", size) : absl::StrFormat("%.0f", size),
                  " GiB");
  return text;
}

}  // namespace

int BusySlots(const v1::Worker& worker) {
  int busy = 0;
  for (const v1::SlotStatus& slot : worker.slots()) busy += slot.job_id().empty() ? 0 : 1;
  return busy;
}

std::string WorkerStateText(const v1::Worker& worker) {
  const bool disconnected = worker.state() == v1::WORKER_STATE_DISCONNECTED;
  if (!worker.draining()) return disconnected ? "disconnected" : "connected";
  return absl::StrCat(BusySlots(worker) > 0 ? "draining" : "drained",
                      disconnected ? ", disconnected" : "");
}

std::string FormatWorkers(const v1::ListWorkersResponse& workers, const View& view) {
  std::vector<std::vector<Cell>> rows = {{{"WORKER"},
                                          {"STATE"},
                                          {"HOST"},
                                          {"SLOT"},
                                          {"DEVICE"},
                                          {"USE"},
                                          {"COMMANDS"},
                                          {"SINCE"},
                                          {"VERSION"}}};
  for (const v1::Worker& worker : workers.workers()) {
    const std::string state = WorkerStateText(worker);
    const Color color = state == "connected" ? Color::kNone : Color::kYellow;
    const std::string since = DurationText(view.now - FromProto(worker.connected_at()));
    for (const v1::SlotStatus& slot : worker.slots()) {
      rows.push_back({{worker.name()},
                      {state, color},
                      {worker.host()},
                      {slot.name()},
                      {DeviceText(slot)},
                      {SlotUse(slot), slot.job_id().empty() ? Color::kFaint : Color::kGreen},
                      {worker.allows_commands() ? "allowed" : "no"},
                      {since},
                      {worker.version()}});
    }
  }
  return FormatTable(rows, view.color);
}

}  // namespace tandem::client
