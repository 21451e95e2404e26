// What a trainer that hangs says about it before it is stopped.
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/print_stacks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;

bool Eventually(absl::FunctionRef<bool()> condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

v1::JobSpec EndlessJob() {
  v1::JobSpec spec = SmallJob();
  spec.clear_epochs();
  spec.set_steps(1'000'000'000);
  return spec;
}

// What it prints from the signal to the end line.
std::string StacksOf(TestTrainer& trainer) {
  const size_t before = trainer.Output().size();
  const auto printed = [&] { return trainer.Output().substr(before); };
  AskForStacks(trainer.pid(), trainer.IsStopped());
  const std::string end = absl::StrCat("\n", kEndOfStacks, "\n");
  EXPECT_TRUE(Eventually([&] { return printed().find(end) != std::string::npos; })) << printed();
  return printed();
}

int LinesThatBeginWith(const std::string& beginning, const std::string& text) {
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, beginning)) ++lines;
  }
  return lines;
}

// On a busy machine one may not answer in time; it is named then, too.
void ExpectEveryThread(const std::set<pid_t>& threads, const std::string& stacks) {
  EXPECT_GE(threads.size(), 2u);
  for (const pid_t thread : threads) {
    const std::string entry = absl::StrCat("thread ", thread, ":");
    EXPECT_EQ(LinesThatBeginWith(entry, stacks), 1) << entry << " in " << stacks;
  }
}

void StartAlone(TestTrainer& trainer) { trainer.Start(trainer.Await().prepared().master_port()); }

class StuckTrainer : public ::testing::TestWithParam<const char*> {};

std::unique_ptr<TestTrainer> TrainerThatComesToHarm(const char* how) {
  setenv("TANDEM_DIE_AT", "PHASE_FORWARD:2", 1);
  setenv("TANDEM_DIE_HOW", how, 1);
  auto trainer = std::make_unique<TestTrainer>(DYING_TRAINER, PrepareFor(EndlessJob(), 0, 1));
  unsetenv("TANDEM_DIE_AT");
  unsetenv("TANDEM_DIE_HOW");
  StartAlone(*trainer);
  return trainer;
}

TEST_P(StuckTrainer, Asked_PrintsWhereEveryThreadIsAndStaysThere) {
  const auto owned = TrainerThatComesToHarm(GetParam());
  TestTrainer& trainer = *owned;
  const auto is_stuck = [&] {
    const ProgressPage::Position position = trainer.position();
    return position.step == 2 && position.phase == v1::PHASE_FORWARD;
  };
  ASSERT_TRUE(Eventually(is_stuck)) << trainer.Output();
  const std::string stacks = StacksOf(trainer);
  ExpectEveryThread(trainer.Threads(), stacks);
  EXPECT_THAT(stacks, HasSubstr("TrainingLoop::")) << "the stack of the thread that trains";
  EXPECT_TRUE(is_stuck());
  // A second time is as good as the first.
  const auto again = [&] {
    const std::string more = StacksOf(trainer);
    ExpectEveryThread(trainer.Threads(), more);
    return more;
  };
  // That of a thread that waits in the system.
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(again(), "AgentLink::"); }));
}

INSTANTIATE_TEST_SUITE_P(How, StuckTrainer, ::testing::Values("loop", "sleep"),
                         [](const auto& info) { return std::string(info.param); });

TEST(StoppedTrainer, Asked_PrintsWhereItWasStopped) {
  const auto trainer = TrainerThatComesToHarm("stop");
  ASSERT_TRUE(Eventually([&] { return trainer->IsStopped(); })) << trainer->Output();
  const std::string stacks = StacksOf(*trainer);
  ExpectEveryThread(trainer->Threads(), stacks);
  EXPECT_THAT(stacks, HasSubstr("ComeToHarm"));
}

TEST(TrainingTrainer, Asked_PrintsItsStacksAndTrainsOn) {
  TestTrainer trainer(TRAINER, PrepareFor(EndlessJob(), 0, 1));
  StartAlone(trainer);
  ASSERT_TRUE(trainer.Await().has_progress());
  for (int time = 0; time < 20; ++time) {
    const std::set<pid_t> threads = trainer.Threads();
    ExpectEveryThread(threads, StacksOf(trainer));
    const uint64_t step = trainer.position().step;
    ASSERT_TRUE(Eventually([&] { return trainer.position().step > step; })) << trainer.Output();
  }
}

}  // namespace
}  // namespace tandem::trainer
