#pragma once

#include <cstdint>
#include <vector>

#include "server/core/scheduler.h"

namespace tandem::core {

// Slots of all workers, and how many of them are on workers that allow commands.
struct SlotCount {
  uint32_t all = 0;
  uint32_t for_commands = 0;

  void Add(const SlotCount& other);
  // A command takes them where it may be; another job anywhere.
  void Take(bool is_command, uint32_t slots);
  // What a job can have of them. A command's are among both.
  uint32_t For(bool is_command) const;
};

// What one schedule has to give, counted: which slots they are is decided afterwards. Commands fit into their workers,
// and all together into all workers; then there is a place for each.
class Supply {
 public:
  explicit Supply(const std::vector<WorkerSlots>& workers);

  // Only some workers allow commands.
  bool IsMixed() const { return all_.for_commands < all_.all; }
  uint32_t All() const { return all_.all; }
  uint32_t AllFor(bool is_command) const { return all_.For(is_command); }
  // Neither granted nor kept.
  uint32_t FreeFor(bool is_command) const { return free_.For(is_command); }
  // As above, without what those would like who are admitted already.
  uint32_t FreeBesideWishesFor(bool is_command) const;
  // Not granted, kept or not.
  uint32_t UngrantedFor(bool is_command) const;
  // Those of attempts that end, as far as they are not promised.
  uint32_t ComingFor(bool is_command) const { return coming_.For(is_command); }
  uint32_t KeptForCommands() const { return kept_.for_commands; }

  // These take at most FreeFor, and ComingFor in the case of Promise.
  void Grant(bool is_command, uint32_t slots);
  // From now on for nobody else.
  void Keep(bool is_command, uint32_t slots);
  void Promise(bool is_command, uint32_t slots) { coming_.Take(is_command, slots); }

  void Expect(const SlotCount& slots) { coming_.Add(slots); }
  // Nothing that becomes free where commands are allowed is for anybody else.
  void LeaveComingToCommands();

  // Of one priority: what those who are admitted would like beyond what they need, and what those who wait would
  // beyond what they are promised.
  void Wish(bool is_command, uint32_t slots);
  void Owe(bool is_command, uint32_t slots);
  // Ends the priority: what comes goes to those who are owed. False if they will not have all.
  bool Settle();

 private:
  SlotCount all_;
  SlotCount free_;
  SlotCount kept_;
  SlotCount coming_;
  SlotCount wishes_;
  SlotCount owed_;
};

}  // namespace tandem::core
