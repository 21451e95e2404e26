// How long one schedule takes where there is much of everything: printed, since a busy machine proves nothing.

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/core/scheduler.h"

namespace tandem::core {
namespace {

constexpr absl::Duration kNow = absl::Hours(1);
constexpr uint32_t kWorkers = 1000;
constexpr uint32_t kSlots = 8;
constexpr uint32_t kQueued = 2000;

// Full of elastic jobs of four slots, two on each worker.
SchedulerState FullCluster() {
  SchedulerState state;
  for (uint32_t w = 0; w < kWorkers; ++w) {
    const WorkerName worker(absl::StrCat("w", w));
    state.workers.push_back({worker, {}, kSlots});
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t sequence = 2 * w + i;
      state.running.push_back({.job = JobId(absl::StrCat("r", sequence)),
                               .precedence = {static_cast<int32_t>(sequence % 3), sequence},
                               .min = 1 + sequence % 4,
                               .max = 8,
                               .slots = {{worker, kSlots / 2}},
                               .started = absl::ZeroDuration(),
                               .can_pause = true});
    }
  }
  return state;
}

SchedulerState EmptyCluster() {
  SchedulerState state;
  for (uint32_t w = 0; w < kWorkers; ++w) {
    WorkerSlots worker{WorkerName(absl::StrCat("w", w)), {}, kSlots};
    for (uint32_t i = 0; i < kSlots; ++i) worker.free.push_back(absl::StrCat("cuda:", i));
    state.workers.push_back(worker);
  }
  return state;
}

void AddQueue(SchedulerState& state, int32_t priority) {
  for (uint32_t i = 0; i < kQueued; ++i) {
    state.queue.push_back({.job = JobId(absl::StrCat("q", i)),
                           .precedence = {priority + static_cast<int32_t>(i % 3), 10000 + i},
                           .min = 1 + i % 7,
                           .max = 8 + i % 9,
                           .queued = kNow - absl::Seconds(30)});
  }
}

Schedule Measure(const std::string& name, const SchedulerState& state) {
  const absl::Time begin = absl::Now();
  Schedule schedule = ScheduleJobs(state, SchedulerPolicy(), kNow);
  std::cout << name << ": " << absl::FormatDuration(absl::Now() - begin) << ", "
            << schedule.starts.size() << " start, " << schedule.pauses.size() << " pause, "
            << schedule.waits.size() << " wait\n";
  return schedule;
}

TEST(SchedulerSpeed, ThousandWorkersTwoThousandQueued_IsPrinted) {
  SchedulerState empty = EmptyCluster();
  AddQueue(empty, 0);
  EXPECT_FALSE(Measure("all slots are free", empty).starts.empty());
  SchedulerState full = FullCluster();
  AddQueue(full, -10);
  EXPECT_TRUE(Measure("all wait for those that run", full).pauses.empty());
  SchedulerState urgent = FullCluster();
  AddQueue(urgent, 10);
  EXPECT_FALSE(Measure("all are urgent", urgent).pauses.empty());
}

}  // namespace
}  // namespace tandem::core
