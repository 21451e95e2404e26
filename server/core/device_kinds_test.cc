#include "server/core/device_kinds.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

WorkerSlots Slots(const std::string& worker, const std::string& kind, uint32_t total,
                  bool allows_commands = true) {
  WorkerSlots slots{WorkerName(worker), {}, total, allows_commands, kind};
  for (uint32_t i = 0; i < total; ++i) slots.free.push_back(absl::StrCat(kind, ":", i));
  return slots;
}

Demand Wanting(const std::string& job, const std::string& kind, uint32_t slots = 1) {
  Demand demand;
  demand.job = JobId(job);
  demand.min = demand.max = slots;
  demand.device = kind;
  return demand;
}

// The kind that a job without one gets.
std::string KindFor(const std::vector<WorkerSlots>& workers, bool is_command = false) {
  Demand demand = Wanting("j", "");
  demand.is_command = is_command;
  for (const auto& [kind, part] : ByKind({.workers = workers, .queue = {demand}, .running = {}})) {
    if (!part.queue.empty()) return kind;
  }
  return "none";
}

TEST(ByKind, WorkerWithSeveralKinds_IsInEach) {
  const auto parts = ByKind(
      {.workers = {Slots("w", "cpu", 2), Slots("w", "cuda", 1)}, .queue = {}, .running = {}});
  EXPECT_THAT(parts, ElementsAre(Key("cpu"), Key("cuda")));
  EXPECT_EQ(parts.at("cuda").workers.at(0).total, 1U);
}

TEST(ByKind, JobWithAKind_WaitsForItThoughNobodyHasIt) {
  const auto parts =
      ByKind({.workers = {Slots("w", "cpu", 2)}, .queue = {Wanting("j", "cuda")}, .running = {}});
  EXPECT_THAT(parts.at("cpu").queue, IsEmpty());
  EXPECT_THAT(parts.at("cuda").workers, IsEmpty());
}

TEST(ByKind, JobWithout_TakesCpuOnlyWhereThereIsNothingElse) {
  EXPECT_EQ(KindFor({Slots("a", "cpu", 2)}), "cpu");
  EXPECT_EQ(KindFor({Slots("a", "cpu", 8), Slots("b", "cuda", 1)}), "cuda");
  EXPECT_EQ(KindFor({Slots("a", "cuda", 1), Slots("b", "xpu", 4)}), "xpu");
  EXPECT_EQ(KindFor({}), "");
}

TEST(ByKind, ProgramWithout_TakesWhatWorkersThatAllowItHave) {
  const std::vector<WorkerSlots> workers = {Slots("a", "cpu", 1), Slots("b", "cuda", 2, false)};
  EXPECT_EQ(KindFor(workers, /*is_command=*/true), "cpu");
  EXPECT_EQ(KindFor(workers, /*is_command=*/false), "cuda");
  EXPECT_EQ(KindFor({Slots("b", "cuda", 2, false)}, /*is_command=*/true), "cuda");
}

TEST(ByKind, FreeSlots_DoNotDecide) {
  WorkerSlots busy = Slots("b", "cuda", 1);
  busy.free.clear();
  EXPECT_EQ(KindFor({Slots("a", "cpu", 8), busy}), "cuda");
}

// States from seeds: workers of up to three kinds, jobs with and without one, attempts that run.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(engine_() % bound); }

  SchedulerState State() {
    SchedulerState state;
    for (uint32_t w = 0; w < 1 + Below(4); ++w) {
      for (const std::string kind : {"cpu", "cuda", "xpu"}) {
        if (Below(2) == 0) AddWorker(absl::StrCat("w", w), kind, state);
      }
    }
    for (uint32_t i = 0; i < Below(8); ++i) {
      Demand demand = Wanting(absl::StrCat("q", i), Kind(), 1 + Below(3));
      demand.max = demand.min + Below(3);
      demand.precedence = {static_cast<int32_t>(Below(3)), i};
      demand.queued = now - absl::Seconds(Below(90));
      demand.is_command = Below(3) == 0;
      state.queue.push_back(demand);
    }
    return state;
  }

  static constexpr absl::Duration now = absl::Hours(1);

 private:
  std::string Kind() {
    const std::vector<std::string> kinds = {"", "", "cpu", "cuda", "xpu"};
    return kinds[Below(5)];
  }
  // Some of its slots are busy with an attempt that may be paused.
  void AddWorker(const std::string& name, const std::string& kind, SchedulerState& state) {
    WorkerSlots worker = Slots(name, kind, 1 + Below(4), Below(4) > 0);
    const uint32_t busy = Below(worker.total + 1);
    worker.free.resize(worker.total - busy);
    if (busy > 0) {
      const auto sequence = static_cast<uint64_t>(1000 + state.running.size());
      Holding& holding = state.running.emplace_back();
      holding.job = JobId(absl::StrCat("r", sequence));
      holding.precedence = {static_cast<int32_t>(Below(3)), sequence};
      holding.max = busy + Below(2);
      holding.slots[worker.worker] = busy;
      holding.can_pause = Below(2) == 0;
      holding.device = kind;
    }
    state.workers.push_back(std::move(worker));
  }

  std::mt19937_64 engine_;
};

std::string KindOf(const Placement& place) { return place.slot.substr(0, place.slot.find(':')); }

// Of each state: an attempt is on one kind, on its own if it has one, and kinds leave each other alone.
TEST(DeviceKindsProperties, AnyState_AttemptsAreOnOneKindAndKeepTheirs) {
  int starts = 0, pauses = 0, decided = 0;
  for (uint64_t seed = 1; seed <= 20'000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const SchedulerState state = Dice(seed).State();
    const Schedule schedule = ScheduleJobs(state, SchedulerPolicy(), Dice::now);
    std::map<JobId, std::string> named, running;
    for (const Demand& demand : state.queue) named[demand.job] = demand.device;
    for (const Holding& holding : state.running) running[holding.job] = holding.device;
    std::set<std::string> wanted;
    for (const Schedule::Start& start : schedule.starts) {
      std::set<std::string> kinds;
      for (const Placement& place : start.ranks) kinds.insert(KindOf(place));
      ASSERT_EQ(kinds.size(), 1U) << start.job.value();
      if (named.at(start.job).empty()) {
        ++decided;
      } else {
        EXPECT_EQ(*kinds.begin(), named.at(start.job));
      }
    }
    EXPECT_EQ(schedule.starts.size() + schedule.waits.size(), state.queue.size());
    starts += static_cast<int>(schedule.starts.size());
    // Nobody makes room for a job of another kind.
    for (const auto& [job, kind] : named) wanted.insert(kind);
    for (const Schedule::Pause& pause : schedule.pauses) {
      if (pause.why != Schedule::Pause::Why::kMakeRoom) continue;
      EXPECT_TRUE(wanted.contains(running.at(pause.job)) || wanted.contains(""));
      ++pauses;
    }
  }
  // Control: much of each has happened.
  EXPECT_GT(starts, 10'000);
  EXPECT_GT(decided, 1'000);
  EXPECT_GT(pauses, 500);
}

// What one kind gets does not depend on what there is of others.
TEST(DeviceKindsProperties, AnyState_EachKindIsScheduledAsIfItWereAlone) {
  for (uint64_t seed = 1; seed <= 5'000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const SchedulerState state = Dice(seed).State();
    const Schedule together = ScheduleJobs(state, SchedulerPolicy(), Dice::now);
    size_t starts = 0, pauses = 0;
    for (const auto& [kind, part] : ByKind(state)) {
      const Schedule alone = ScheduleJobs(part, SchedulerPolicy(), Dice::now);
      starts += alone.starts.size();
      pauses += alone.pauses.size();
      for (const Schedule::Start& start : alone.starts) {
        const auto same = std::find_if(together.starts.begin(), together.starts.end(),
                                       [&](const auto& other) { return other.job == start.job; });
        ASSERT_NE(same, together.starts.end()) << start.job.value();
        EXPECT_EQ(same->ranks, start.ranks);
      }
    }
    EXPECT_EQ(together.starts.size(), starts);
    EXPECT_EQ(together.pauses.size(), pauses);
  }
}

}  // namespace
}  // namespace tandem::core
