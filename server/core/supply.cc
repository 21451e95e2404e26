#include "server/core/supply.h"

#include <algorithm>

namespace tandem::core {
namespace {

SlotCount Of(bool is_command, uint32_t slots) { return {slots, is_command ? slots : 0}; }

uint32_t Less(uint32_t from, uint32_t what) { return from - std::min(from, what); }

}  // namespace

void SlotCount::Add(const SlotCount& other) {
  all += other.all;
  for_commands += other.for_commands;
}

void SlotCount::Take(bool is_command, uint32_t slots) {
  all -= slots;
  if (is_command) for_commands -= slots;
}

uint32_t SlotCount::For(bool is_command) const {
  return is_command ? std::min(all, for_commands) : all;
}

Supply::Supply(const std::vector<WorkerSlots>& workers) {
  for (const WorkerSlots& worker : workers) {
    all_.Add(Of(worker.allows_commands, worker.total));
    free_.Add(Of(worker.allows_commands, static_cast<uint32_t>(worker.free.size())));
  }
}

uint32_t Supply::FreeBesideWishesFor(bool is_command) const {
  const SlotCount rest = {Less(free_.all, wishes_.all),
                          Less(free_.for_commands, wishes_.for_commands)};
  return rest.For(is_command);
}

uint32_t Supply::UngrantedFor(bool is_command) const {
  SlotCount ungranted = free_;
  ungranted.Add(kept_);
  return ungranted.For(is_command);
}

void Supply::Grant(bool is_command, uint32_t slots) { free_.Take(is_command, slots); }

void Supply::Keep(bool is_command, uint32_t slots) {
  free_.Take(is_command, slots);
  kept_.Add(Of(is_command, slots));
}

void Supply::LeaveComingToCommands() { coming_.Take(true, coming_.For(true)); }

void Supply::Wish(bool is_command, uint32_t slots) { wishes_.Add(Of(is_command, slots)); }

void Supply::Owe(bool is_command, uint32_t slots) { owed_.Add(Of(is_command, slots)); }

bool Supply::Settle() {
  wishes_ = {};
  const uint32_t to_commands = std::min(owed_.for_commands, coming_.For(true));
  coming_.Take(true, to_commands);
  owed_.Take(true, to_commands);
  const uint32_t to_others = std::min(owed_.all - owed_.for_commands, coming_.all);
  coming_.Take(false, to_others);
  owed_.Take(false, to_others);
  return owed_.all == 0;
}

}  // namespace tandem::core
