#include "server/core/scheduler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Why = Schedule::Pause::Why;

constexpr absl::Duration kNow = absl::Hours(1);
const SchedulerPolicy kPolicy;

WorkerSlots Host(const std::string& name, uint32_t free, uint32_t busy = 0) {
  WorkerSlots slots{WorkerName(name), {}, free + busy};
  for (uint32_t i = 0; i < free; ++i) slots.free.push_back("cpu:" + std::to_string(i));
  return slots;
}

WorkerSlots HostWithoutCommands(const std::string& name, uint32_t free, uint32_t busy = 0) {
  WorkerSlots slots = Host(name, free, busy);
  slots.allows_commands = false;
  return slots;
}

// The queue of a test, in order of submission; each has just been queued.
class Queue {
 public:
  Queue& Wants(const std::string& job, uint32_t slots) { return Wants(job, slots, slots); }
  Queue& Wants(const std::string& job, uint32_t min, uint32_t max) {
    jobs_.push_back({.job = JobId(job),
                     .precedence = {0, 100 + jobs_.size()},
                     .min = min,
                     .max = max,
                     .queued = kNow});
    return *this;
  }
  Queue& WithPriority(int32_t priority) {
    jobs_.back().precedence.priority = priority;
    return *this;
  }
  Queue& Since(absl::Duration ago) {
    jobs_.back().queued = kNow - ago;
    return *this;
  }
  Queue& Resuming() {
    jobs_.back().resumes = true;
    return *this;
  }
  Queue& WithCommand() {
    jobs_.back().is_command = true;
    return *this;
  }
  Queue& NotBefore(absl::Duration when) {
    jobs_.back().not_before = when;
    return *this;
  }
  operator std::vector<Demand>() const { return jobs_; }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<Demand> jobs_;
};

// On worker "a", for long, with a checkpoint.
Holding Runs(const std::string& job, uint64_t sequence, uint32_t slots) {
  return {.job = JobId(job),
          .precedence = {0, sequence},
          .min = slots,
          .max = slots,
          .slots = {{WorkerName("a"), slots}},
          .started = kNow - absl::Minutes(10),
          .can_pause = true};
}

Holding Elastic(const std::string& job, uint64_t sequence, uint32_t slots, uint32_t min,
                uint32_t max) {
  Holding holding = Runs(job, sequence, slots);
  holding.min = min;
  holding.max = max;
  return holding;
}

Schedule Plan(std::vector<WorkerSlots> workers, std::vector<Demand> queue,
              std::vector<Holding> running = {}) {
  return ScheduleJobs({std::move(workers), std::move(queue), std::move(running)}, kPolicy, kNow);
}

std::vector<std::string> WorkersOf(const Schedule::Start& start) {
  std::vector<std::string> names;
  for (const Placement& place : start.ranks) names.push_back(place.worker.value());
  return names;
}

std::vector<std::string> Started(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Schedule::Start& start : schedule.starts) {
    names.push_back(start.job.value() + "/" + std::to_string(start.ranks.size()));
  }
  return names;
}

std::vector<std::string> Paused(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Schedule::Pause& pause : schedule.pauses) names.push_back(pause.job.value());
  return names;
}

TEST(Scheduler, OneWorkerHoldsAll_ItIsUsedAlone) {
  const Schedule schedule = Plan({Host("a", 1), Host("b", 2)}, Queue().Wants("j", 2));
  ASSERT_THAT(schedule.starts, SizeIs(1));
  EXPECT_THAT(schedule.starts[0].ranks, ElementsAre(Placement{WorkerName("b"), "cpu:0"},
                                                    Placement{WorkerName("b"), "cpu:1"}));
}

TEST(Scheduler, SeveralWorkersHoldAll_TightestIsUsed) {
  const Schedule schedule = Plan({Host("a", 8), Host("b", 2), Host("c", 3)}, Queue().Wants("j", 2));
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("b", "b"));
}

TEST(Scheduler, NoWorkerHoldsAll_FewestAreUsedAndRanksOfOneAreContiguous) {
  const Schedule schedule =
      Plan({Host("a", 1), Host("b", 3), Host("c", 1), Host("d", 2)}, Queue().Wants("j", 5));
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("b", "b", "b", "d", "d"));
}

TEST(Scheduler, EqualWorkers_FirstByNameIsUsed) {
  const Schedule schedule = Plan({Host("b", 2), Host("a", 2)}, Queue().Wants("j", 1));
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("a"));
}

TEST(Scheduler, SeveralJobsFit_SlotsAreHandedOutOnce) {
  const Schedule schedule =
      Plan({Host("a", 3)}, Queue().Wants("one", 1).Wants("two", 2).Wants("three", 1));
  ASSERT_THAT(schedule.starts, SizeIs(2));
  EXPECT_EQ(schedule.starts[0].ranks[0].slot, "cpu:0");
  EXPECT_EQ(schedule.starts[1].ranks[0].slot, "cpu:1");
  EXPECT_EQ(schedule.starts[1].ranks[1].slot, "cpu:2");
  EXPECT_THAT(schedule.waits, SizeIs(1));
}

TEST(Scheduler, HigherPriority_ComesFirst) {
  const Schedule schedule =
      Plan({Host("a", 1)}, Queue().Wants("early", 1).Wants("urgent", 1).WithPriority(1));
  EXPECT_THAT(Started(schedule), ElementsAre("urgent/1"));
}

TEST(Backfill, FirstDoesNotFit_SmallerOneBehindItStarts) {
  const Schedule schedule = Plan({Host("a", 2, 1)}, Queue().Wants("big", 3).Wants("small", 1));
  EXPECT_THAT(Started(schedule), ElementsAre("small/1"));
  EXPECT_EQ(schedule.waits.at(0).reason, "needs 3 slots, 2 are free of 3");
}

TEST(Backfill, FirstHasWaitedTooLong_WhatIsFreeIsKeptForIt) {
  const auto queue = [](absl::Duration ago) {
    return Queue().Wants("big", 3).Since(ago).Wants("small", 1);
  };
  const Schedule schedule =
      Plan({Host("a", 2, 1)}, queue(kPolicy.starvation_limit + absl::Milliseconds(1)));
  EXPECT_THAT(schedule.starts, IsEmpty());
  EXPECT_EQ(schedule.waits.at(1).reason, "waits for big, which was submitted earlier");
  // Control: a moment earlier it may be passed.
  EXPECT_THAT(Started(Plan({Host("a", 2, 1)}, queue(kPolicy.starvation_limit))),
              ElementsAre("small/1"));
}

TEST(Backfill, FirstHasAHigherPriority_NobodyPassesIt) {
  const Schedule schedule =
      Plan({Host("a", 2, 1)}, Queue().Wants("small", 1).Wants("big", 3).WithPriority(1));
  EXPECT_THAT(schedule.starts, IsEmpty());
  EXPECT_EQ(schedule.waits.at(1).reason, "waits for big, which has a higher priority");
}

TEST(Backfill, FirstCanNeverFit_OthersDoNotWaitForIt) {
  const Schedule schedule =
      Plan({Host("a", 2)},
           Queue().Wants("huge", 4).WithPriority(1).Since(absl::Hours(1)).Wants("small", 1));
  EXPECT_THAT(Started(schedule), ElementsAre("small/1"));
  EXPECT_EQ(schedule.waits.at(0).reason, "needs 4 slots but all workers together have 2");
}

TEST(Backfill, FirstWaitsAfterAFailure_OthersPass) {
  const Schedule schedule =
      Plan({Host("a", 1)},
           Queue().Wants("failed", 1).NotBefore(kNow + absl::Milliseconds(1)).Wants("next", 1));
  EXPECT_THAT(Started(schedule), ElementsAre("next/1"));
  EXPECT_THAT(schedule.waits.at(0).reason, HasSubstr("restarts in 1s"));
  // Control: once its time has come it is the first.
  EXPECT_THAT(
      Started(Plan({Host("a", 1)}, Queue().Wants("failed", 1).NotBefore(kNow).Wants("next", 1))),
      ElementsAre("failed/1"));
}

TEST(ElasticJob, EnoughIsFree_ItGetsAllItWants) {
  EXPECT_THAT(Started(Plan({Host("a", 8)}, Queue().Wants("e", 1, 4))), ElementsAre("e/4"));
}

TEST(ElasticJob, LessIsFree_WaitsAMomentForMoreThenStarts) {
  const std::vector<WorkerSlots> workers = {Host("a", 2, 2)};
  const Schedule early = Plan(workers, Queue().Wants("e", 1, 4));
  EXPECT_THAT(early.starts, IsEmpty());
  EXPECT_EQ(early.waits.at(0).reason, "could start with 2 of 4 slots and waits a moment for more");
  EXPECT_THAT(Started(Plan(workers, Queue().Wants("e", 1, 4).Since(kPolicy.patience))),
              ElementsAre("e/2"));
}

TEST(ElasticJob, ThereIsNoMoreThanIsFree_StartsAtOnce) {
  EXPECT_THAT(Started(Plan({Host("a", 2)}, Queue().Wants("e", 1, 4))), ElementsAre("e/2"));
}

TEST(ElasticJob, ItWasPaused_StartsAtOnce) {
  EXPECT_THAT(Started(Plan({Host("a", 2, 2)}, Queue().Wants("e", 1, 4).Resuming())),
              ElementsAre("e/2"));
}

TEST(ElasticJob, OthersOfItsPriorityNeedSlots_EachGetsWhatItNeedsBeforeOneGetsMore) {
  const Schedule schedule =
      Plan({Host("a", 4)}, Queue().Wants("e", 1, 4).Wants("one", 1).Wants("two", 1));
  EXPECT_THAT(Started(schedule), ElementsAre("e/2", "one/1", "two/1"));
}

TEST(ElasticJob, OthersOfLowerPriority_GetWhatItLeaves) {
  const Schedule schedule =
      Plan({Host("a", 4)}, Queue().Wants("e", 1, 4).WithPriority(1).Wants("low", 1));
  EXPECT_THAT(Started(schedule), ElementsAre("e/4"));
}

TEST(MakeRoom, HigherPriorityWaits_LowestAndNewestArePaused) {
  const Schedule schedule = Plan({Host("a", 0, 4)}, Queue().Wants("urgent", 1).WithPriority(5),
                                 {Runs("old", 1, 2), Runs("new", 2, 2)});
  EXPECT_THAT(Paused(schedule), ElementsAre("new"));
  EXPECT_EQ(schedule.pauses[0].why, Why::kMakeRoom);
  EXPECT_EQ(schedule.waits.at(0).reason,
            "needs 1 slot, 0 are free of 4; waits for new to save and make room");
}

TEST(MakeRoom, NoMoreThanNeeded) {
  // "new" alone is not enough, and once "old" is paused it is not needed.
  const Schedule schedule = Plan({Host("a", 0, 4)}, Queue().Wants("urgent", 3).WithPriority(5),
                                 {Runs("old", 1, 3), Runs("new", 2, 1)});
  EXPECT_THAT(Paused(schedule), ElementsAre("old"));
}

TEST(MakeRoom, NotEnoughEvenThen_NobodyIsPaused) {
  Holding unsaved = Runs("unsaved", 1, 2);
  unsaved.can_pause = false;
  const Schedule schedule = Plan({Host("a", 0, 4)}, Queue().Wants("urgent", 4).WithPriority(5),
                                 {unsaved, Runs("saved", 2, 2)});
  EXPECT_THAT(schedule.pauses, IsEmpty());
}

TEST(MakeRoom, SlotsAreComingAlready_NobodyElseIsPaused) {
  Holding ending = Runs("ending", 1, 2);
  ending.ending = true;
  const Schedule schedule = Plan({Host("a", 0, 4)}, Queue().Wants("urgent", 2).WithPriority(5),
                                 {ending, Runs("other", 2, 2)});
  EXPECT_THAT(schedule.pauses, IsEmpty());
}

TEST(MakeRoom, EqualPriority_NobodyIsPaused) {
  const Schedule schedule =
      Plan({Host("a", 0, 2)}, Queue().Wants("late", 1).Since(absl::Hours(1)), {Runs("r", 1, 2)});
  EXPECT_THAT(schedule.pauses, IsEmpty());
}

TEST(MakeRoom, EqualPriorityAndAnElasticJobHoldsMoreThanItNeeds_ItMakesRoomAfterAMoment) {
  const std::vector<Holding> running = {Elastic("e", 1, 4, 1, 4)};
  const std::vector<WorkerSlots> workers = {Host("a", 0, 4)};
  const auto queue = [](uint32_t slots, absl::Duration ago) {
    return Queue().Wants("late", slots).Since(ago);
  };
  EXPECT_THAT(Paused(Plan(workers, queue(3, kPolicy.patience), running)), ElementsAre("e"));
  EXPECT_THAT(Plan(workers, queue(3, absl::ZeroDuration()), running).pauses, IsEmpty());
  EXPECT_THAT(Plan(workers, queue(4, kPolicy.patience), running).pauses, IsEmpty());
}

TEST(Growth, SlotsAreFreeAndNobodyWaits_ElasticJobIsPausedToGrow) {
  const Schedule schedule = Plan({Host("a", 2, 2)}, {}, {Elastic("e", 1, 2, 1, 4)});
  EXPECT_THAT(Paused(schedule), ElementsAre("e"));
  EXPECT_EQ(schedule.pauses[0].why, Why::kGrow);
  EXPECT_EQ(schedule.pauses[0].reason, "it goes on with 4 workers instead of 2");
}

TEST(ElasticJob, OneBehindItWaitsForMore_StillGetsAllThatTheOtherDoesNotNeed) {
  const Schedule schedule =
      Plan({Host("a", 4, 4)},
           Queue().Wants("first", 1, 4).Since(kPolicy.patience).Wants("second", 1, 4));
  EXPECT_THAT(Started(schedule), ElementsAre("first/3"));
  EXPECT_EQ(schedule.waits.at(0).reason,
            "could start with 1 of 4 slots and waits a moment for more");
}

TEST(MakeRoom, OneLargeOrSeveralSmallOfEqualPriority_OneIsPaused) {
  const Schedule schedule =
      Plan({Host("a", 0, 6)}, Queue().Wants("urgent", 3).WithPriority(5),
           {Runs("large", 1, 3), Runs("s1", 2, 1), Runs("s2", 3, 1), Runs("s3", 4, 1)});
  EXPECT_THAT(Paused(schedule), ElementsAre("large"));
}

TEST(MakeRoom, LowerPriorityIsEnough_HigherOneIsSparedThoughFewerWouldDo) {
  Holding higher = Runs("higher", 1, 2);
  higher.precedence.priority = 1;
  const Schedule schedule = Plan({Host("a", 0, 4)}, Queue().Wants("urgent", 2).WithPriority(5),
                                 {higher, Runs("s1", 2, 1), Runs("s2", 3, 1)});
  EXPECT_THAT(Paused(schedule), UnorderedElementsAre("s1", "s2"));
}

TEST(MakeRoom, SeveralWait_EachGetsRoomAtOnce) {
  const Schedule schedule =
      Plan({Host("a", 0, 2)}, Queue().Wants("u1", 1).WithPriority(5).Wants("u2", 1).WithPriority(5),
           {Runs("r1", 1, 1), Runs("r2", 2, 1)});
  EXPECT_THAT(Paused(schedule), UnorderedElementsAre("r1", "r2"));
}

TEST(MakeRoom, SlotsAreComingForOne_WhatIsFreeIsKeptForIt) {
  Holding ending = Runs("ending", 1, 2);
  const auto plan = [&] {
    return Plan({Host("a", 1, 2)}, Queue().Wants("big", 3).Wants("small", 1), {ending});
  };
  // Control: nothing is coming, and the small one passes.
  EXPECT_THAT(Started(plan()), ElementsAre("small/1"));
  ending.ending = true;
  EXPECT_THAT(plan().starts, IsEmpty());
  EXPECT_EQ(plan().waits.at(0).reason, "needs 3 slots, 1 is free of 3; waits for ending to end");
}

TEST(Growth, AnotherEnds_NobodyGrowsIntoWhatThatOneWillTake) {
  Holding ending = Elastic("e1", 1, 1, 1, 4);
  ending.ending = true;
  EXPECT_THAT(Plan({Host("a", 2, 2)}, {}, {ending, Elastic("e2", 2, 1, 1, 4)}).pauses, IsEmpty());
}

TEST(Growth, ItHasJustStarted_Waits) {
  Holding elastic = Elastic("e", 1, 2, 1, 4);
  elastic.started = kNow - kPolicy.settle + absl::Milliseconds(1);
  EXPECT_THAT(Plan({Host("a", 2, 2)}, {}, {elastic}).pauses, IsEmpty());
}

TEST(Growth, AnotherJobWaits_NobodyGrows) {
  EXPECT_THAT(Plan({Host("a", 2, 2)}, Queue().Wants("j", 3), {Elastic("e", 1, 2, 1, 4)}).pauses,
              IsEmpty());
}

TEST(Growth, ItWasAskedToBeLarger_AsSoonAsItCanBe) {
  Holding resized = Elastic("r", 1, 2, 4, 4);
  resized.started = kNow;
  EXPECT_THAT(Paused(Plan({Host("a", 2, 2)}, {}, {resized})), ElementsAre("r"));
  EXPECT_THAT(Plan({Host("a", 1, 2)}, {}, {resized}).pauses, IsEmpty());
}

TEST(Growth, ItRunsOnADrainedWorker_ThoseSlotsAreNotCounted) {
  Holding elastic = Elastic("e", 1, 0, 1, 4);
  elastic.slots = {{WorkerName("drained"), 3}};
  EXPECT_THAT(Plan({Host("a", 2)}, {}, {elastic}).pauses, IsEmpty());
}

TEST(Scheduler, NoWorker_ReasonSaysSo) {
  const Schedule schedule = Plan({}, Queue().Wants("j", 1, 2));
  EXPECT_EQ(schedule.waits.at(0).reason, "needs at least 1 slot but no worker is connected");
}

TEST(Scheduler, NothingQueued_NothingHappens) {
  const Schedule schedule = Plan({Host("a", 1)}, {});
  EXPECT_THAT(schedule.starts, IsEmpty());
  EXPECT_THAT(schedule.waits, IsEmpty());
  EXPECT_THAT(schedule.pauses, IsEmpty());
}

TEST(Scheduler, Command_RunsOnlyWhereItIsAllowed) {
  const Schedule schedule =
      Plan({HostWithoutCommands("a", 4), Host("b", 2)}, Queue().Wants("j", 2).WithCommand());
  ASSERT_THAT(schedule.starts, SizeIs(1));
  EXPECT_THAT(WorkersOf(schedule.starts[0]), ElementsAre("b", "b"));
}

TEST(Scheduler, CommandThatFitsNowhereWhereItIsAllowed_SaysSo) {
  const Schedule schedule =
      Plan({HostWithoutCommands("a", 4), Host("b", 1)}, Queue().Wants("j", 2).WithCommand());
  EXPECT_THAT(schedule.starts, IsEmpty());
  ASSERT_THAT(schedule.waits, SizeIs(1));
  EXPECT_THAT(schedule.waits[0].reason, testing::HasSubstr("--allow-commands"));
}

// Without the partition the first would take the slots of the second.
TEST(Scheduler, OtherJobBeforeACommand_LeavesItTheSlotsThatItNeeds) {
  const Schedule schedule = Plan({Host("a", 2), HostWithoutCommands("b", 2)},
                                 Queue().Wants("plain", 2).Wants("command", 2).WithCommand());
  ASSERT_THAT(Started(schedule), testing::UnorderedElementsAre("plain/2", "command/2"));
  for (const Schedule::Start& start : schedule.starts) {
    const std::string worker = start.job == JobId("command") ? "a" : "b";
    EXPECT_THAT(WorkersOf(start), ElementsAre(worker, worker));
  }
}

TEST(Scheduler, FreeSlotsWhereCommandsAreNotAllowed_AreNotKeptForOne) {
  const Schedule schedule =
      Plan({Host("a", 0, 2), HostWithoutCommands("b", 2)},
           Queue().Wants("command", 2).WithCommand().Wants("plain", 2), {Runs("r", 1, 2)});
  EXPECT_THAT(Started(schedule), ElementsAre("plain/2"));
  EXPECT_THAT(Paused(schedule), IsEmpty());
}

// It hopes for a fourth, and the next one has no claim to what it hopes with.
TEST(MixedCluster, SlotsKeptForACommand_AreNotTakenByTheNext) {
  const std::vector<WorkerSlots> workers = {Host("a", 3, 1), HostWithoutCommands("b", 4)};
  Queue queue = Queue().Wants("first", 2, 4).WithCommand().Wants("second", 3).WithCommand();
  const Schedule schedule = Plan(workers, queue);
  EXPECT_THAT(Started(schedule), IsEmpty());
  EXPECT_EQ(schedule.waits.at(1).reason, "waits for first, which was submitted earlier");
}

TEST(MixedCluster, SlotsKeptForACommand_AreNotTakenByATightFit) {
  const Schedule schedule = Plan({Host("a", 3, 1), HostWithoutCommands("b", 4)},
                                 Queue().Wants("c", 2, 4).WithCommand().Wants("plain", 3));
  ASSERT_THAT(Started(schedule), ElementsAre("plain/3"));
  EXPECT_THAT(WorkersOf(schedule.starts[0]), ElementsAre("b", "b", "b"));
}

Holding Endless(const std::string& job, uint32_t slots) {
  Holding holding = Runs(job, 1, slots);
  holding.can_pause = false;
  return holding;
}

TEST(MixedCluster, CommandOfHigherPriorityWaits_OthersStartWhereItMayNotBe) {
  const Queue queue = Queue()
                          .Wants("command", 2)
                          .WithCommand()
                          .WithPriority(1)
                          .Wants("plain", 2)
                          .Wants("next", 1)
                          .WithCommand();
  const Schedule schedule =
      Plan({Host("a", 1, 1), HostWithoutCommands("b", 4)}, queue, {Endless("day", 1)});
  ASSERT_THAT(Started(schedule), ElementsAre("plain/2"));
  EXPECT_THAT(WorkersOf(schedule.starts[0]), ElementsAre("b", "b"));
  EXPECT_EQ(schedule.waits.at(1).reason, "waits for command, which has a higher priority");
}

TEST(MixedCluster, CommandHasWaitedTooLong_OthersLeaveItsWorkersToIt) {
  const Queue queue = Queue()
                          .Wants("command", 2)
                          .WithCommand()
                          .Since(kPolicy.starvation_limit + absl::Milliseconds(1))
                          .Wants("large", 3)
                          .Wants("small", 2);
  const Schedule schedule =
      Plan({Host("a", 1, 1), HostWithoutCommands("b", 2)}, queue, {Endless("day", 1)});
  ASSERT_THAT(Started(schedule), ElementsAre("small/2"));
  EXPECT_THAT(WorkersOf(schedule.starts[0]), ElementsAre("b", "b"));
}

TEST(MixedCluster, CommandOfHigherPriority_RoomIsMadeOnlyWhereItMayBe) {
  Holding elsewhere = Runs("elsewhere", 2, 2);
  elsewhere.slots = {{WorkerName("b"), 2}};
  const Queue queue = Queue().Wants("command", 2).WithCommand().WithPriority(1);
  const auto plan = [&](std::vector<Holding> running) {
    return Plan({Host("a", 0, 2), HostWithoutCommands("b", 0, 2)}, queue, std::move(running));
  };
  // The newer one would go first, were its slots of use.
  EXPECT_THAT(Paused(plan({Runs("here", 1, 2), elsewhere})), ElementsAre("here"));
  EXPECT_THAT(Paused(plan({Endless("here", 2), elsewhere})), IsEmpty());
}

TEST(MixedCluster, NobodyMakesRoomForAnotherWhereACommandWouldTakeIt) {
  Holding lowest = Runs("lowest", 1, 1);
  lowest.precedence.priority = -1;
  const Queue queue = Queue().Wants("command", 2).WithCommand().WithPriority(1).Wants("plain", 1);
  EXPECT_THAT(Paused(Plan({Host("a", 0, 2), HostWithoutCommands("b", 0, 1)}, queue,
                          {Endless("day", 1), lowest})),
              IsEmpty());
}

TEST(MixedCluster, OtherJob_PrefersWorkersWithoutCommandsButIsNotSplitForIt) {
  const std::vector<WorkerSlots> workers = {Host("a", 3), HostWithoutCommands("b", 2),
                                            HostWithoutCommands("c", 2)};
  EXPECT_THAT(WorkersOf(Plan(workers, Queue().Wants("j", 2)).starts.at(0)), ElementsAre("b", "b"));
  EXPECT_THAT(WorkersOf(Plan(workers, Queue().Wants("j", 3)).starts.at(0)),
              ElementsAre("a", "a", "a"));
}

}  // namespace
}  // namespace tandem::core
