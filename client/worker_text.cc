#include "client/worker_text.h"

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"

namespace tandem::client {
namespace {

std::string SlotUse(const v1::SlotStatus& slot) {
  if (slot.job_id().empty()) return "free";
  return absl::StrCat(slot.job_id(), " rank ", slot.rank());
}

}  // namespace

std::string FormatWorkers(const v1::ListWorkersResponse& workers, const View& view) {
  std::vector<std::vector<Cell>> rows = {
      {{"WORKER"}, {"HOST"}, {"SLOT"}, {"USE"}, {"CONNECTED"}, {"VERSION"}}};
  for (const v1::Worker& worker : workers.workers()) {
    const std::string since = DurationText(view.now - FromProto(worker.connected_at()));
    for (const v1::SlotStatus& slot : worker.slots()) {
      rows.push_back({{worker.name()},
                      {worker.host()},
                      {slot.name()},
                      {SlotUse(slot), slot.job_id().empty() ? Color::kFaint : Color::kGreen},
                      {since},
                      {worker.version()}});
    }
  }
  return FormatTable(rows, view.color);
}

}  // namespace tandem::client
