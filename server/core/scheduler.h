#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/options.h"

namespace tandem::core {

// The slots of one kind of one connected worker that is not being drained.
struct WorkerSlots {
  WorkerName worker;
  // Free ones, in the order in which they are to be used.
  std::vector<std::string> free;
  // Free and busy ones.
  uint32_t total = 0;
  // It also runs jobs with a `command`.
  bool allows_commands = true;
  // Their kind: "cuda" of "cuda:0".
  std::string device = {};
};

// Who comes first: a higher priority, then the earlier submission.
struct Precedence {
  int32_t priority = 0;
  uint64_t sequence = 0;
};
bool Precedes(const Precedence& a, const Precedence& b);

// What a queued job asks for: one slot a rank, all at once, at least `min` of them, `max` if it can have
// them. 1 <= min <= max.
struct Demand {
  JobId job;
  Precedence precedence;
  uint32_t min = 1;
  uint32_t max = 1;
  // On the steady clock, as all instants here: when it began to wait.
  absl::Duration queued = absl::ZeroDuration();
  // Its last attempt ended because that was wanted: it starts with what there is, at once.
  bool resumes = false;
  // Not to be started before: it waits after a failure.
  absl::Duration not_before = -absl::InfiniteDuration();
  // Only on workers that allow it.
  bool is_command = false;
  // The kind of its slots. Empty: it has none yet.
  std::string device = {};
};

// An attempt that runs.
struct Holding {
  JobId job;
  Precedence precedence;
  uint32_t min = 1;
  uint32_t max = 1;
  // Slots held on each worker, those of workers that are drained or not connected too.
  std::map<WorkerName, uint32_t> slots;
  absl::Duration started = absl::ZeroDuration();
  // It trains and has checkpoints, so that a pause costs it next to nothing.
  bool can_pause = false;
  // Its slots will soon be free: it has been told to pause or to stop.
  bool ending = false;
  bool is_command = false;
  std::string device = {};
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
  // Lets an attempt save and end, so that it is queued again and starts with another size, here or elsewhere.
  struct Pause {
    JobId job;
    // kMakeRoom: for a job that precedes it. kGrow: there is room for more ranks.
    enum class Why { kMakeRoom, kGrow } why;
    // One sentence.
    std::string reason;
  };
  std::vector<Start> starts;
  std::vector<Wait> waits;
  std::vector<Pause> pauses;
};

struct SchedulerState {
  // A worker with several kinds of slots once for each.
  std::vector<WorkerSlots> workers;
  // In any order.
  std::vector<Demand> queue;
  std::vector<Holding> running;
  // How many slots of each kind there are besides, on which nothing can be started now.
  std::map<std::string, uint32_t> away = {};
};

// Who starts now, who has to make room, and why the others wait, for each kind of device apart (device_kinds.h). Where
// only some workers allow commands, a job with one has room made there, and keeps nobody from the other workers.
Schedule ScheduleJobs(SchedulerState state, const SchedulerPolicy& policy, absl::Duration now);

}  // namespace tandem::core
