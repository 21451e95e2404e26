#pragma once

#include <cstdint>
#include <vector>

#include "server/core/scheduler.h"

namespace tandem::core {

// The attempts that may be paused so that a waiting job can start. Each is chosen once.
class Victims {
 public:
  struct Room {
    std::vector<JobId> jobs;
    // What a waiting job gains by it; 0 if nobody is chosen.
    uint32_t slots = 0;
    // Not all are of lower priority: some are elastic ones of the same, which come back smaller.
    bool takes_from_equals = false;
  };

  // `holding` gives back `returned` slots when it ends, and stays valid as long as this.
  void Add(const Holding& holding, uint32_t returned);

  // At least `needed` slots for `demand`, or nobody. Nobody has to go whose priority is above what is
  // necessary; of those that are left, as few as possible; of those again the newest.
  Room Choose(const Demand& demand, uint32_t needed);

 private:
  struct Giver {
    const Holding* holding;
    uint32_t returned;
    bool chosen = false;
  };
  struct Candidate {
    Giver* giver;
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
  uint32_t most_ = 0;
};

}  // namespace tandem::core
