#include "client/local_slots.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "common/slot_request.h"

namespace tandem::client {
namespace {

// Longer than a worker waits for its look at the devices.
constexpr absl::Duration kPatience = absl::Seconds(90);
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(20);

absl::Status NoneOf(const std::string& kind) {
  const std::string remedy =
      kind == kCpuKind
          ? "--local 1 offers one"
          : absl::StrCat("--local ", kind, ":all offers those that tandem doctor finds");
  return absl::InvalidArgumentError(
      absl::StrCat("device: there is no ", kind, " slot here (", remedy, ")"));
}

}  // namespace

LocalSlots LocalSlots::OnCpu(uint32_t count) {
  return {
      .text = absl::StrCat(kCpuKind, ":", count), .kind = std::string(kCpuKind), .count = count};
}

LocalSlots LocalSlots::AllOf(const std::string& kind) {
  return {.text = absl::StrCat(kind, ":all"), .kind = kind, .count = 0};
}

absl::StatusOr<LocalSlots> ParseLocalSlots(const std::string& text) {
  uint32_t number = 0;
  const bool is_number = absl::SimpleAtoi(text, &number);
  const std::string slots = is_number ? absl::StrCat(kCpuKind, ":", number) : text;
  const auto request = ParseSlotRequest(slots);
  if (request.ok()) return LocalSlots{slots, request->kind, request->size()};
  return absl::InvalidArgumentError(absl::StrCat(
      "--local: ", is_number
                       ? absl::StrCat(text, " is not in 1 to 1024")
                       : absl::StrCat(request.status().message(), ", or a number of CPU slots")));
}

LocalSlots SlotsFor(const v1::JobSpec& spec, const v1::Worker& worker) {
  std::map<std::string, uint32_t> kinds;
  for (const v1::SlotStatus& slot : worker.slots()) ++kinds[std::string(KindOfSlot(slot.name()))];
  if (spec.has_device()) return {.text = "", .kind = spec.device(), .count = kinds[spec.device()]};
  LocalSlots best;
  for (const auto& [kind, count] : kinds) {
    const bool is_better =
        best.count == 0 || best.kind == kCpuKind || (kind != kCpuKind && count > best.count);
    if (is_better) best = {.text = "", .kind = kind, .count = count};
  }
  return best;
}

absl::Status CheckKind(const LocalSlots& slots, const v1::JobSpec& spec) {
  const bool is_there = !spec.has_device() || slots.kind.empty() || slots.kind == spec.device();
  return is_there ? absl::OkStatus() : NoneOf(spec.device());
}

absl::StatusOr<LocalSlots> FindLocalSlots(const LocalCluster& cluster, const v1::JobSpec& spec,
                                          const Interrupts& interrupts) {
  Connection::Options options;
  options.address = cluster.address();
  const auto connection = Connection::Open(options);
  if (!connection.ok()) return connection.status();
  for (const absl::Time deadline = absl::Now() + kPatience; absl::Now() < deadline;) {
    const auto workers = (*connection)->ListWorkers();
    if (!workers.ok()) return workers.status();
    if (!workers->workers().empty()) {
      LocalSlots slots = SlotsFor(spec, workers->workers(0));
      return slots.count > 0 ? absl::StatusOr<LocalSlots>(slots) : NoneOf(slots.kind);
    }
    const bool interrupted = interrupts.WaitFor(kBetweenLooks, 0);
    if (absl::Status failure = cluster.Failure(); !failure.ok()) return failure;
    if (interrupted) return absl::CancelledError("interrupted");
  }
  return absl::UnavailableError(absl::StrCat("tandem-worker has not offered its slots within ",
                                             absl::FormatDuration(kPatience)));
}

}  // namespace tandem::client
