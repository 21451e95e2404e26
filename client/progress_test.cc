#include "client/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Job RunningAt(uint64_t step) {
  v1::Job job;
  job.set_id("digits-abc");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.set_step(step);
  job.set_total_steps(1000);
  job.set_epoch(3);
  job.mutable_spec()->set_epochs(20);
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
            "digits-abc step 1/1000 epoch 4/20 loss 0.1234 50 steps/s\n"
            "digits-abc step 3/1000 epoch 4/20 loss 0.1234 50 steps/s\n");
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

TEST_F(ProgressTest, JobThatHasEnded_IsLeftToTheSummary) {
  v1::Job ended = RunningAt(1000);
  ended.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Show(false, {ended}, absl::Seconds(1)), "");
}

TEST_F(ProgressTest, TimeLeft_IsSaidOnceTheRateIsKnown) {
  const std::vector<v1::Job> jobs = {RunningAt(10), RunningAt(20)};
  EXPECT_THAT(Show(true, jobs, absl::Milliseconds(1900)), Not(HasSubstr("left")));
  EXPECT_THAT(Show(true, jobs, absl::Seconds(2)), HasSubstr("left"));
}

TEST_F(ProgressTest, TimeLeft_InANewAttempt_IsHiddenAgain) {
  v1::Job again = RunningAt(20);
  again.set_attempt(2);
  EXPECT_THAT(Show(true, {RunningAt(10), again}, absl::Seconds(2)), Not(HasSubstr("left")));
}

// A job whose attempts up to `ended` failed, and which is at the next one.
v1::Job WithAttempts(v1::Job job, uint32_t ended) {
  for (uint32_t number = 1; number <= ended; ++number) {
    v1::AttemptStatus& attempt = *job.add_attempts();
    attempt.set_number(number);
    attempt.set_world_size(2);
    attempt.mutable_ended_at()->set_seconds(1);
    attempt.mutable_cause()->set_message("rank 1 died");
  }
  job.add_attempts()->set_number(ended + 1);
  job.set_attempt(ended + 1);
  return job;
}

TEST_F(ProgressTest, AttemptThatEnds_IsToldOnce) {
  v1::Job again = WithAttempts(RunningAt(1), 1);
  v1::Job later = WithAttempts(RunningAt(7), 1);
  const std::string told = "digits-abc attempt 1 on 2 workers, failed: rank 1 died; the job ";
  const std::vector<v1::Job> jobs = {WithAttempts(RunningAt(5), 0), again, later, later};
  EXPECT_EQ(
      Show(false, jobs, absl::Seconds(2)),
      absl::StrCat("digits-abc step 5/1000 epoch 4/20 loss 0.1234 50 steps/s\n", told,
                   "starts again\n", "digits-abc step 1/1000 epoch 4/20 loss 0.1234 50 steps/s\n",
                   "digits-abc step 7/1000 epoch 4/20 loss 0.1234 50 steps/s\n"));
  again.mutable_checkpoint()->set_step(4);
  EXPECT_THAT(Show(false, {jobs[0], again}, absl::Seconds(2)),
              HasSubstr(told + "goes on from its checkpoint\n"));
}

TEST_F(ProgressTest, AttemptsThatEndBetweenTwoStates_AreToldAll) {
  const std::string text =
      Show(false, {WithAttempts(RunningAt(5), 0), WithAttempts(RunningAt(6), 2)}, absl::Seconds(2));
  EXPECT_THAT(text, HasSubstr("attempt 1 on"));
  EXPECT_THAT(text, HasSubstr("attempt 2 on"));
}

TEST_F(ProgressTest, AttemptsBeforeItIsWatched_AreNoNewsButTheLast) {
  const std::string text = Show(false, {WithAttempts(RunningAt(5), 40)}, absl::Seconds(2));
  EXPECT_THAT(text, testing::StartsWith("digits-abc attempt 40 on"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(ProgressTest, LastAttemptOfAJobThatHasEnded_IsLeftToTheSummary) {
  v1::Job ended = WithAttempts(RunningAt(5), 1);
  ended.mutable_attempts(1)->mutable_ended_at()->set_seconds(2);
  ended.set_state(v1::JOB_STATE_FAILED);
  const std::string text = Show(false, {WithAttempts(RunningAt(5), 0), ended}, absl::Seconds(2));
  EXPECT_THAT(text, HasSubstr("attempt 1 on"));
  EXPECT_THAT(text, Not(HasSubstr("attempt 2")));
}

TEST_F(ProgressTest, Interrupted_LeavesTheLineAndGoesOnBelow) {
  testing::internal::CaptureStderr();
  Console::Settings settings;
  settings.remarks_are_terminal = true;
  Console console(settings);
  Progress progress(&console, &clock_);
  progress.Update(Queued("a"));
  progress.Leave();
  console.RemarkAfterInterrupt("interrupted");
  progress.Clear();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\x1b[KQUEUED: a\ninterrupted\n");
}

TEST_F(ProgressTest, Aside_TakesTheLineAwayAndDrawsItAgain) {
  testing::internal::CaptureStderr();
  Console::Settings settings;
  settings.remarks_are_terminal = true;
  Console console(settings);
  Progress progress(&console, &clock_);
  const auto print = [&] { console.RemarkRaw("hello\n"); };
  progress.Aside(print);
  progress.Update(Queued("a"));
  progress.Aside(print);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hello\n\r\x1b[KQUEUED: a\r\x1b[Khello\n\r\x1b[KQUEUED: a");
}

TEST(ProgressBar, ProgramOfUnknownLength_HasNoBarAndNoEpoch) {
  v1::Job job = RunningAt(7);
  job.mutable_spec()->mutable_command()->add_argv("./train");
  job.clear_total_steps();
  job.clear_epoch();
  EXPECT_EQ(ProgressBar(job, 200, true), "step 7 loss 0.1234 50 steps/s");
}

TEST(ProgressBar, RunningJob_HasBarAndTimeLeft) {
  EXPECT_EQ(ProgressBar(RunningAt(500), 200, true),
            "[############............] step 500/1000 epoch 4/20 loss 0.1234 50 steps/s 10s left");
  EXPECT_THAT(ProgressBar(RunningAt(500), 200, false), Not(HasSubstr("left")));
}

TEST(ProgressBar, NarrowTerminal_ShortensTheBarThenDropsWhatMattersLess) {
  const v1::Job job = RunningAt(500);
  EXPECT_EQ(ProgressBar(job, 80, true),
            "[##########..........] step 500/1000 epoch 4/20 loss 0.1234 50 steps/s 10s left");
  EXPECT_EQ(ProgressBar(job, 60, true), "step 500/1000 epoch 4/20 loss 0.1234 50 steps/s 10s left");
  EXPECT_EQ(ProgressBar(job, 56, true), "step 500/1000 epoch 4/20 loss 0.1234 10s left");
  EXPECT_EQ(ProgressBar(job, 40, true), "step 500/1000 loss 0.1234 10s left");
  EXPECT_EQ(ProgressBar(job, 20, true), "step 500/1000");
}

TEST(ProgressBar, AnyTerminal_IsNeverWrapped) {
  for (int columns = 1; columns < 120; ++columns) {
    EXPECT_LE(ProgressBar(RunningAt(500), columns, true).size(), std::max(1, columns - 1));
    EXPECT_LE(ProgressBar(Queued("needs 4 slots"), columns, true).size(), std::max(1, columns - 1));
  }
}

TEST(ProgressBar, LongReason_EndsAtAWord) {
  EXPECT_EQ(ProgressBar(Queued("needs 4 slots but 2 are free"), 30, false),
            "QUEUED: needs 4 slots but ...");
}

}  // namespace
}  // namespace tandem::client
