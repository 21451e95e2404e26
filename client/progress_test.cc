#include "client/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::client {
namespace {

using ::testing::HasSubstr;

v1::Job RunningAt(uint64_t step) {
  v1::Job job;
  job.set_id("digits-abc");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.set_step(step);
  job.set_total_steps(1000);
  job.set_epoch(3);
  job.set_loss(0.12344);
  job.set_steps_per_second(50);
  return job;
}

v1::Job Queued(const std::string& reason) {
  v1::Job job;
  job.set_id("digits-abc");
  job.set_state(v1::JOB_STATE_QUEUED);
  job.set_waiting_reason(reason);
  return job;
}

class ProgressTest : public testing::Test {
 protected:
  // What standard error gets while `jobs` arrive, `apart` from one another.
  std::string Show(bool terminal, const std::vector<v1::Job>& jobs, absl::Duration apart) {
    testing::internal::CaptureStderr();
    Console::Settings settings;
    settings.remarks_are_terminal = terminal;
    Console console(settings);
    {
      Progress progress(&console, &clock_);
      for (const v1::Job& job : jobs) {
        progress.Update(job);
        clock_.Advance(apart);
      }
    }
    return testing::internal::GetCapturedStderr();
  }

  FakeClock clock_;
};

TEST_F(ProgressTest, InAPipe_OneLineASecondAndOneAState) {
  const std::string text =
      Show(false, {Queued("no slot"), RunningAt(1), RunningAt(2), RunningAt(3), RunningAt(4)},
           absl::Milliseconds(500));
  EXPECT_EQ(text,
            "digits-abc QUEUED: no slot\n"
            "digits-abc step 1/1000 epoch 3 loss 0.1234 50 steps/s\n"
            "digits-abc step 3/1000 epoch 3 loss 0.1234 50 steps/s\n");
}

TEST_F(ProgressTest, InAPipe_NewWaitingReasonIsALine) {
  EXPECT_EQ(Show(false, {Queued("a"), Queued("a"), Queued("b")}, absl::Seconds(5)),
            "digits-abc QUEUED: a\ndigits-abc QUEUED: b\n");
}

TEST_F(ProgressTest, OnATerminal_DrawsAtMostTenTimesASecond) {
  std::vector<v1::Job> jobs;
  for (uint64_t step = 1; step <= 100; ++step) jobs.push_back(RunningAt(step));
  const std::string text = Show(true, jobs, absl::Milliseconds(10));
  EXPECT_LE(std::count(text.begin(), text.end(), '\r'), 11);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
  EXPECT_THAT(text, testing::EndsWith("\r\x1b[K"));
}

TEST(ProgressBar, RunningJob_HasBarAndTimeLeft) {
  const std::string bar = ProgressBar(RunningAt(500), 200);
  EXPECT_THAT(bar, HasSubstr("[############............] step 500/1000"));
  EXPECT_THAT(bar, HasSubstr("10s left"));
}

TEST(ProgressBar, NarrowTerminal_IsNotWrapped) {
  EXPECT_EQ(ProgressBar(RunningAt(500), 20).size(), 19u);
}

}  // namespace
}  // namespace tandem::client
