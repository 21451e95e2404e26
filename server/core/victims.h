#pragma once

#include <cstdint>
#include <vector>

#include "server/core/scheduler.h"
#include "server/core/supply.h"

namespace tandem::core {

// The attempts that may be paused so that a waiting job can start. Each is chosen once.
class Victims {
 public:
  struct Room {
    std::vector<JobId> jobs;
    // What is gained by it.
    SlotCount slots;
    // Not all are of lower priority: some are elastic ones of the same, which come back smaller.
    bool takes_from_equals = false;
  };

  // `holding` gives back `returned` slots when it ends, and stays valid as long as this.
  void Add(const Holding& holding, const SlotCount& returned);

  // What is on workers that allow commands counts no more.
  void SpareCommandWorkers();

  // At least `needed` slots that `demand` can have, or nobody. Nobody has to go whose priority is above what is
  // necessary; of those that are left, as few as possible; of those again the newest.
  Room Choose(const Demand& demand, uint32_t needed);

 private:
  struct Giver {
    const Holding* holding;
    SlotCount returned;
    bool chosen = false;
  };
  struct Candidate {
    Giver* giver;
    SlotCount gain;
    // Of these, what the demand can have.
    uint32_t room;
  };
  // Those of one priority, newest first.
  struct Level {
    std::vector<Candidate> candidates;
    uint32_t room = 0;
  };

  void Sort();
  std::vector<Level> LevelsFor(const Demand& demand);
  static std::vector<Candidate> Fewest(std::vector<Candidate> candidates, uint32_t needed);
  static void Choose(const Candidate& candidate, const Demand& demand, Room& room);

  // The lowest priority first, then the newest.
  std::vector<Giver> givers_;
  bool sorted_ = false;
  // No demand can gain more.
  SlotCount most_;
};

}  // namespace tandem::core
