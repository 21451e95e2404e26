#include "client/local_slots.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;

TEST(ParseLocalSlots, Number_IsSlotsOnTheCpu) {
  const auto slots = ParseLocalSlots("3");
  ASSERT_TRUE(slots.ok()) << slots.status();
  EXPECT_EQ(slots->text, "cpu:3");
  EXPECT_EQ(slots->kind, "cpu");
  EXPECT_EQ(slots->count, 3U);
}

TEST(ParseLocalSlots, Devices_AreAsForAWorker) {
  EXPECT_EQ(ParseLocalSlots("cuda:0,1")->text, "cuda:0,1");
  EXPECT_EQ(ParseLocalSlots("cuda:0,1")->count, 2U);
  EXPECT_EQ(ParseLocalSlots("cuda:all")->count, 0U);
  EXPECT_EQ(ParseLocalSlots("auto")->kind, "");
}

TEST(ParseLocalSlots, AnythingElse_IsRefused) {
  for (const char* text : {"", "0", "1025", "-1", "two", "cuda", "cuda:x"}) {
    const auto slots = ParseLocalSlots(text);
    ASSERT_FALSE(slots.ok()) << text;
    EXPECT_THAT(std::string(slots.status().message()), HasSubstr("--local: ")) << text;
  }
}

v1::Worker WorkerWith(const std::vector<std::string>& slots) {
  v1::Worker worker;
  for (const std::string& slot : slots) worker.add_slots()->set_name(slot);
  return worker;
}

TEST(SlotsFor, NoKindIsNamed_AreOfTheOneThatTheCoordinatorWouldChoose) {
  EXPECT_EQ(SlotsFor({}, WorkerWith({"cpu:0", "cpu:1"})).count, 2U);
  const LocalSlots mixed = SlotsFor({}, WorkerWith({"cpu:0", "cpu:1", "cuda:0", "xpu:0", "xpu:1"}));
  EXPECT_EQ(mixed.kind, "xpu");
  EXPECT_EQ(mixed.count, 2U);
}

TEST(SlotsFor, KindIsNamed_AreOfThat) {
  v1::JobSpec spec;
  spec.set_device("cuda");
  EXPECT_EQ(SlotsFor(spec, WorkerWith({"cpu:0", "cuda:4"})).count, 1U);
  EXPECT_EQ(SlotsFor(spec, WorkerWith({"cpu:0"})).count, 0U);
}

TEST(CheckKind, JobThatNamesAnotherKind_IsRefusedWithWhatWouldDo) {
  v1::JobSpec spec;
  EXPECT_TRUE(CheckKind(LocalSlots::OnCpu(1), spec).ok());
  spec.set_device("cuda");
  EXPECT_THAT(std::string(CheckKind(LocalSlots::OnCpu(1), spec).message()),
              HasSubstr("--local cuda:all"));
  EXPECT_TRUE(CheckKind(LocalSlots::AllOf("cuda"), spec).ok());
  EXPECT_TRUE(CheckKind(*ParseLocalSlots("auto"), spec).ok());
}

}  // namespace
}  // namespace tandem::client
