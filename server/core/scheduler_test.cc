#include "server/core/scheduler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorkerSlots Host(const std::string& name, uint32_t free, uint32_t busy = 0) {
  WorkerSlots slots{WorkerName(name), {}, free + busy};
  for (uint32_t i = 0; i < free; ++i) slots.free.push_back("cpu:" + std::to_string(i));
  return slots;
}

Demand Wants(const std::string& job, uint32_t slots) { return {JobId(job), slots}; }

std::vector<std::string> WorkersOf(const Schedule::Start& start) {
  std::vector<std::string> names;
  for (const Placement& place : start.ranks) names.push_back(place.worker.value());
  return names;
}

TEST(Scheduler, OneWorkerHoldsAll_ItIsUsedAlone) {
  const Schedule schedule = ScheduleQueue({Host("a", 1), Host("b", 2)}, {Wants("j", 2)});
  ASSERT_THAT(schedule.starts, SizeIs(1));
  EXPECT_THAT(schedule.starts[0].ranks, ElementsAre(Placement{WorkerName("b"), "cpu:0"},
                                                    Placement{WorkerName("b"), "cpu:1"}));
}

TEST(Scheduler, SeveralWorkersHoldAll_TightestIsUsed) {
  const Schedule schedule =
      ScheduleQueue({Host("a", 8), Host("b", 2), Host("c", 3)}, {Wants("j", 2)});
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("b", "b"));
}

TEST(Scheduler, NoWorkerHoldsAll_FewestAreUsedAndRanksOfOneAreContiguous) {
  const Schedule schedule =
      ScheduleQueue({Host("a", 1), Host("b", 3), Host("c", 1), Host("d", 2)}, {Wants("j", 5)});
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("b", "b", "b", "d", "d"));
}

TEST(Scheduler, EqualWorkers_FirstIsUsed) {
  const Schedule schedule = ScheduleQueue({Host("a", 2), Host("b", 2)}, {Wants("j", 1)});
  EXPECT_THAT(WorkersOf(schedule.starts.at(0)), ElementsAre("a"));
}

TEST(Scheduler, SeveralJobsFit_SlotsAreHandedOutOnce) {
  const Schedule schedule =
      ScheduleQueue({Host("a", 3)}, {Wants("one", 1), Wants("two", 2), Wants("three", 1)});
  ASSERT_THAT(schedule.starts, SizeIs(2));
  EXPECT_EQ(schedule.starts[0].ranks[0].slot, "cpu:0");
  EXPECT_EQ(schedule.starts[1].ranks[0].slot, "cpu:1");
  EXPECT_EQ(schedule.starts[1].ranks[1].slot, "cpu:2");
  EXPECT_THAT(schedule.waits, SizeIs(1));
}

TEST(Scheduler, FirstDoesNotFit_SmallerOneBehindItWaitsToo) {
  const Schedule schedule = ScheduleQueue({Host("a", 2, 1)}, {Wants("big", 3), Wants("small", 1)});
  EXPECT_THAT(schedule.starts, IsEmpty());
  ASSERT_THAT(schedule.waits, SizeIs(2));
  EXPECT_EQ(schedule.waits[0].reason, "needs 3 slots, 2 are free of 3");
  EXPECT_EQ(schedule.waits[1].reason, "waits for big, which was submitted earlier");
}

TEST(Scheduler, MoreThanAllWorkersHave_ReasonSaysSo) {
  const Schedule schedule = ScheduleQueue({Host("a", 1), Host("b", 1)}, {Wants("j", 4)});
  EXPECT_EQ(schedule.waits.at(0).reason, "needs 4 slots but all workers together have 2");
}

TEST(Scheduler, NoWorker_ReasonSaysSo) {
  const Schedule schedule = ScheduleQueue({}, {Wants("j", 1)});
  EXPECT_THAT(schedule.waits.at(0).reason, HasSubstr("no worker is connected"));
}

TEST(Scheduler, NothingQueued_NothingHappens) {
  const Schedule schedule = ScheduleQueue({Host("a", 1)}, {});
  EXPECT_THAT(schedule.starts, IsEmpty());
  EXPECT_THAT(schedule.waits, IsEmpty());
}

}  // namespace
}  // namespace tandem::core
