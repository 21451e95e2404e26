#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"

namespace tandem::core {

// The slots of one worker.
struct WorkerSlots {
  WorkerName worker;
  // Free ones, in the order in which they are to be used.
  std::vector<std::string> free;
  // Free and busy ones.
  uint32_t total = 0;
};

// What a queued job asks for: one slot a rank, all at once.
struct Demand {
  JobId job;
  uint32_t slots = 0;
};

// Where one rank runs.
struct Placement {
  WorkerName worker;
  std::string slot;
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Schedule {
  struct Start {
    JobId job;
    // Element r is the place of rank r. The ranks of one worker are contiguous.
    std::vector<Placement> ranks;
  };
  struct Wait {
    JobId job;
    // One sentence: what the job waits for.
    std::string reason;
  };
  std::vector<Start> starts;
  std::vector<Wait> waits;
};

// Who starts now and why the others wait. First in, first out: a job starts when all its slots are
// free at once and every job before it has started. Uses as few workers as possible, and among
// those choices keeps the larger holes free; ties go to the worker that comes first.
Schedule ScheduleQueue(std::vector<WorkerSlots> workers, const std::vector<Demand>& queue);

}  // namespace tandem::core
