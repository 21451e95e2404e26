#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_split.h"
#include "client/environment_block.h"
#include "client/job_text.h"
#include "client/json.h"
#include "client/log_text.h"
#include "client/loss_text.h"
#include "client/worker_text.h"
#include "common/proto_time.h"

namespace tandem::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

v1::Job FinishedJob() {
  v1::Job job;
  job.set_id("digits-abc");
  job.set_name("digits");
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  job.set_attempt(1);
  job.set_world_size(2);
  job.set_logical_ranks(4);
  job.set_step(1120);
  job.set_total_steps(1120);
  job.set_loss(0.012345678901234567);
  job.mutable_evaluation()->set_accuracy(0.975);
  job.mutable_evaluation()->set_samples(360);
  job.mutable_evaluation()->set_step(1100);
  job.set_parameter_digest("ab12");
  *job.mutable_submitted_at() = ToProto(kNow - absl::Seconds(65));
  *job.mutable_started_at() = ToProto(kNow - absl::Seconds(60));
  *job.mutable_ended_at() = ToProto(kNow - absl::Seconds(58));
  *job.mutable_time_to_first_step() = ToProto(absl::Seconds(6));
  return job;
}

v1::Job FailedJob() {
  v1::Job job = FinishedJob();
  job.set_state(v1::JOB_STATE_FAILED);
  job.clear_parameter_digest();
  job.mutable_cause()->set_message("rank 1 was killed by signal 9 at step 7");
  job.mutable_cause()->set_attempt(1);
  job.mutable_cause()->add_last_lines("last words");
  return job;
}

View Plain() { return {kNow, absl::UTCTimeZone(), false}; }

TEST(FormatJobList, Jobs_AreOneAlignedLineEach) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = FinishedJob();
  jobs.add_jobs()->set_id("a-much-longer-id");
  const std::vector<std::string> lines = absl::StrSplit(FormatJobList(jobs, Plain()), '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "JOB               STATE        WORKERS  STEP       LOSS     AGE");
  EXPECT_EQ(lines[1], "digits-abc        SUCCEEDED    2        1120/1120  0.01235  1m5s");
}

TEST(FormatSummary, SucceededJob_SaysLossAccuracySpeedAndDigest) {
  const std::string text = FormatSummary(FinishedJob(), Plain());
  EXPECT_THAT(text, HasSubstr("digits-abc  SUCCEEDED"));
  EXPECT_THAT(text, HasSubstr("0.01235"));
  EXPECT_THAT(text, HasSubstr("accuracy 97.50 % of 360 samples at step 1100"));
  EXPECT_THAT(text, HasSubstr("2s, 1119 steps/s, first step after 6s"));
  EXPECT_THAT(text, HasSubstr("logical ranks  4\n  parameters     ab12\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FormatSummary, JobWithACheckpoint_SaysWhereItIs) {
  v1::Job job = FinishedJob();
  EXPECT_THAT(FormatSummary(job, Plain()), Not(HasSubstr("checkpoint")));
  job.mutable_checkpoint()->set_path("/c/digits-abc/step-000000001100.safetensors");
  EXPECT_THAT(FormatSummary(job, Plain()),
              HasSubstr("checkpoint     /c/digits-abc/step-000000001100.safetensors\n"));
}

TEST(FormatSummary, FailedJob_SaysCauseAndLastLines) {
  const std::string text = FormatSummary(FailedJob(), Plain());
  EXPECT_THAT(text, HasSubstr("cause: rank 1 was killed by signal 9 at step 7\n    last words\n"));
}

TEST(FormatSummary, LastLineThatRepeatsTheCause_IsLeftOut) {
  v1::Job job = FailedJob();
  job.mutable_cause()->add_last_lines("tandem-trainer: " + job.cause().message());
  const std::string text = FormatSummary(job, Plain());
  EXPECT_THAT(text, EndsWith("signal 9 at step 7\n    last words\n"));
  job.mutable_cause()->add_last_lines("and more");
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr("tandem-trainer: rank 1"));
}

TEST(FormatSummary, SlowJob_HasOneDecimal) {
  v1::Job job = FinishedJob();
  job.set_step(8);
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr("2s, 7.0 steps/s"));
}

TEST(FormatSummary, SingleStep_HasNoSpeed) {
  v1::Job job = FinishedJob();
  job.set_step(1);
  EXPECT_THAT(FormatSummary(job, Plain()), Not(HasSubstr("steps/s")));
}

TEST(FormatSummary, ResumedJob_CountsItsOwnStepsOnly) {
  v1::Job job = FinishedJob();
  job.set_first_step(1100);
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr("2s, 20 steps/s"));
}

TEST(FormatSummary, FirstStepOfAnEarlierAttempt_SaysNothingAboutTheLast) {
  v1::Job job = FinishedJob();
  job.set_attempt(2);
  *job.mutable_time_to_first_step() = ToProto(absl::Seconds(4));
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr("2s in attempt 2\n"));
}

TEST(FormatSummary, ClockThatWasSetBack_HasNoNegativeTime) {
  v1::Job job = FinishedJob();
  *job.mutable_ended_at() = ToProto(kNow - absl::Hours(1));
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr("time           0, first step"));
}

TEST(FormatSummary, JobThatNeverStarted_HasNoSpeed) {
  v1::Job job;
  job.set_id("x");
  job.set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(FormatSummary(job, Plain()), Not(HasSubstr("steps/s")));
}

TEST(FormatStatus, QueuedJob_SaysWhatItWaitsFor) {
  v1::Job job;
  job.set_id("digits-abc");
  job.set_state(v1::JOB_STATE_QUEUED);
  job.set_waiting_reason("needs 4 slots, 2 are free");
  EXPECT_EQ(FormatStatus(job, Plain()), "digits-abc  QUEUED\nwaits: needs 4 slots, 2 are free\n");
}

TEST(FormatStatus, Epochs_CountFromOne) {
  v1::Job job = FinishedJob();
  job.set_epoch(199);
  EXPECT_THAT(FormatStatus(job, Plain()), HasSubstr("epoch 200 "));
  job.mutable_spec()->set_epochs(200);
  EXPECT_THAT(FormatStatus(job, Plain()), HasSubstr("epoch 200/200 "));
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr("epoch          200/200\n"));
}

TEST(FormatStatus, OnATerminal_ColoursTheState) {
  View view = Plain();
  view.color = true;
  EXPECT_THAT(FormatStatus(FailedJob(), view), HasSubstr("\x1b[31mFAILED\x1b[0m"));
}

TEST(FormatDescription, Job_SaysEverything) {
  v1::Job job = FailedJob();
  job.set_master_port(40123);
  v1::RankStatus* rank = job.add_ranks();
  rank->set_rank(1);
  rank->set_worker("node-a");
  rank->set_slot("cpu:1");
  rank->set_pid(4242);
  rank->set_logical_begin(2);
  rank->set_logical_end(4);
  rank->set_phase(v1::PHASE_BACKWARD);
  job.mutable_spec()->set_global_batch_size(64);
  const std::string text = FormatDescription(job, Plain());
  for (const char* part :
       {"loss           0.01235\n", "samples at step 1100", "logical ranks  4", "40123",
        "1970-01-12 13:45:35.000 UTC", "cause of the end of attempt 1: rank 1 was killed",
        "last words", "node-a", "4242", "2-3", "backward", "global_batch_size: 64"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(FormatDescription, Receipt_SaysLevelAndDigestsWithTheirSteps) {
  v1::Job job = FinishedJob();
  v1::Receipt& receipt = *job.mutable_receipt();
  receipt.set_level(v1::EQUIVALENCE_LEVEL_BITWISE);
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr("equivalence    bitwise\n"));
  EXPECT_THAT(FormatDescription(job, Plain()), Not(HasSubstr("receipt")));
  receipt.set_step(1120);
  receipt.set_digest(0x00c0ffee12345678);
  EXPECT_THAT(FormatDescription(job, Plain()),
              HasSubstr("receipt        00c0ffee12345678 at step 1120\n"));
  receipt.set_parameter_step(1100);
  receipt.set_parameter_digest("0123456789abcdef0123456789abcdef");
  EXPECT_THAT(FormatDescription(job, Plain()),
              HasSubstr("at step 1120, parameters 0123456789ab at step 1100\n"));
}

TEST(FormatDescription, LevelBelowBitwise_NamesTheKeyThatSaysSo) {
  v1::Job job = FinishedJob();
  job.mutable_receipt()->set_level(v1::EQUIVALENCE_LEVEL_NONE);
  job.mutable_receipt()->set_reason("unsafe.order_by_rank");
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr(" none (unsafe.order_by_rank)\n"));
}

TEST(FormatDescription, JobOfAVersionWithoutReceipts_SaysNothingAboutOne) {
  EXPECT_THAT(FormatDescription(FinishedJob(), Plain()), Not(HasSubstr("equivalence")));
}

TEST(FormatDescription, ResumedJob_SaysWhereItWentOnAndWhatItSaved) {
  v1::Job job = FinishedJob();
  job.set_first_step(401);
  job.mutable_checkpoint()->set_step(1100);
  job.mutable_checkpoint()->set_path("/checkpoints/digits/1100");
  const std::string text = FormatDescription(job, Plain());
  EXPECT_THAT(text, HasSubstr("1120 of 1120, resumed after step 400\n"));
  EXPECT_THAT(text, HasSubstr("/checkpoints/digits/1100 at step 1100\n"));
}

v1::AttemptStatus Attempt(uint32_t number, uint64_t first_step, uint64_t last_step) {
  v1::AttemptStatus attempt;
  attempt.set_number(number);
  attempt.set_world_size(number);
  attempt.set_first_step(first_step);
  attempt.set_last_step(last_step);
  *attempt.mutable_started_at() = ToProto(kNow - absl::Seconds(65));
  *attempt.mutable_ended_at() = ToProto(kNow - absl::Seconds(5));
  return attempt;
}

v1::AttemptStatus Because(v1::AttemptStatus attempt, v1::CauseCode code, const std::string& why) {
  attempt.mutable_cause()->set_code(code);
  attempt.mutable_cause()->set_message(why);
  return attempt;
}

// The second attempt runs, or is the last one.
v1::Job RestartedJob(v1::JobState state) {
  v1::Job job = FailedJob();
  job.set_state(state);
  job.set_attempt(2);
  *job.add_attempts() =
      Because(Attempt(1, 1, 500), v1::CAUSE_CODE_RANK_DIED, job.cause().message());
  *job.add_attempts() = Attempt(2, 401, 500);
  *job.mutable_attempts(1)->mutable_pause() = ToProto(absl::Milliseconds(1500));
  if (state == v1::JOB_STATE_RUNNING) job.mutable_attempts(1)->clear_ended_at();
  return job;
}

TEST(AttemptText, SaysWorkersStepsAndWhyItEnded) {
  EXPECT_EQ(AttemptText(Because(Attempt(1, 0, 0), v1::CAUSE_CODE_RANK_DIED, "rank 0 died")),
            "attempt 1 on 1 worker, failed: rank 0 died");
  EXPECT_EQ(AttemptText(Because(Attempt(2, 401, 500), v1::CAUSE_CODE_RESIZED, "from 2 to 3")),
            "attempt 2 on 2 workers, steps 401 to 500, ended: from 2 to 3");
  EXPECT_EQ(AttemptText(Attempt(2, 401, 500)), "attempt 2 on 2 workers, steps 401 to 500");
}

TEST(FormatDescription, JobThatWasStartedAgain_HasALineForEachAttempt) {
  const std::string text = FormatDescription(RestartedJob(v1::JOB_STATE_RUNNING), Plain());
  EXPECT_THAT(text, HasSubstr("\nATTEMPT  WORKERS  STEPS    PAUSE  STARTED              TOOK  END\n"
                              "1        1        1-500           1970-01-12 13:45:35  1m    rank 1 "
                              "was killed by signal 9 at step 7\n"
                              "2        2        401-500  1.5s   1970-01-12 13:45:35  1m5s  goes "
                              "on\n"));
}

TEST(FormatDescription, AttemptsThatWereForgotten_LeaveAGap) {
  v1::Job job = RestartedJob(v1::JOB_STATE_RUNNING);
  EXPECT_THAT(FormatDescription(job, Plain()), Not(HasSubstr("\n...")));
  job.set_attempt(7);
  job.mutable_attempts(1)->set_number(7);
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr("\n...\n7  "));
}

TEST(FormatDescription, LastAttempt_EndsAsTheJobDid) {
  EXPECT_THAT(FormatDescription(RestartedJob(v1::JOB_STATE_SUCCEEDED), Plain()),
              HasSubstr("  finished\n"));
  EXPECT_THAT(FormatDescription(RestartedJob(v1::JOB_STATE_CANCELLED), Plain()),
              HasSubstr("  cancelled\n"));
  v1::Job job = RestartedJob(v1::JOB_STATE_RUNNING);
  job.mutable_attempts(1)->mutable_cause()->set_message("worker node-a is being drained");
  EXPECT_THAT(FormatDescription(job, Plain()),
              HasSubstr("  is ending: worker node-a is being drained\n"));
}

TEST(FormatDescription, JobOfOneAttempt_HasNoTimeline) {
  v1::Job job = FinishedJob();
  *job.add_attempts() = Attempt(1, 1, 1120);
  EXPECT_THAT(FormatDescription(job, Plain()), Not(HasSubstr("ATTEMPT")));
}

TEST(FormatDescription, FailedAttempts_SayHowManyMoreThereMayBeAndWhen) {
  v1::Job job = RestartedJob(v1::JOB_STATE_QUEUED);
  job.set_failures(2);
  job.mutable_spec()->mutable_restart()->set_max(3);
  *job.mutable_restart_at() = ToProto(kNow + absl::Seconds(1));
  const std::string text = FormatDescription(job, Plain());
  EXPECT_THAT(text, HasSubstr("2 since the last checkpoint; at most 3 are followed by another"));
  EXPECT_THAT(text, HasSubstr("starts again   1970-01-12 13:46:41.000 UTC\n"));
}

TEST(FormatStatus, JobThatWasStartedAgain_SaysWhichAttemptFailed) {
  const std::string line = "attempt 1 failed: rank 1 was killed by signal 9 at step 7\n";
  for (const v1::JobState state :
       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED, v1::JOB_STATE_CANCELLED}) {
    EXPECT_THAT(FormatStatus(RestartedJob(state), Plain()), EndsWith("\n" + line));
  }
  EXPECT_THAT(FormatSummary(RestartedJob(v1::JOB_STATE_CANCELLED), Plain()), HasSubstr(line));
  EXPECT_THAT(FormatStatus(RestartedJob(v1::JOB_STATE_FAILED), Plain()), HasSubstr("\ncause: "));
}

// A program that has reported nothing.
v1::Job CommandJob(v1::JobState state) {
  v1::Job job;
  job.set_id("train-abc");
  job.set_state(state);
  job.set_attempt(1);
  job.set_world_size(2);
  job.set_logical_ranks(2);
  for (const char* word : {"python", "train.py", "--name", "a b"}) {
    job.mutable_spec()->mutable_command()->add_argv(word);
  }
  return job;
}

TEST(FormatStatus, CommandThatReportsNothing_IsItsCommandLine) {
  EXPECT_EQ(FormatStatus(CommandJob(v1::JOB_STATE_SUCCEEDED), Plain()),
            "train-abc  SUCCEEDED\ncommand: python train.py --name 'a b'\n");
}

TEST(FormatStatus, CommandThatFailed_HasItsTraceback) {
  v1::Job job = CommandJob(v1::JOB_STATE_FAILED);
  job.mutable_cause()->set_message("rank 1 exited with code 1: ValueError: no such column");
  for (const char* line : {"  threads        1", "Traceback (most recent call last):",
                           "  File \"train.py\", line 3", "ValueError: no such column"}) {
    job.mutable_cause()->add_last_lines(line);
  }
  const std::string traceback =
      "cause: rank 1 exited with code 1: ValueError: no such column\n"
      "    Traceback (most recent call last):\n"
      "      File \"train.py\", line 3\n";
  EXPECT_THAT(FormatStatus(job, Plain()), HasSubstr(traceback));
  EXPECT_THAT(FormatSummary(job, Plain()), HasSubstr(traceback));
}

TEST(FormatSummary, CommandThatReportsNothing_SaysOnlyWhereItRan) {
  const std::string text = FormatSummary(CommandJob(v1::JOB_STATE_SUCCEEDED), Plain());
  EXPECT_THAT(text, HasSubstr("ran      on 2 workers\n"));
  EXPECT_THAT(text, Not(HasSubstr("logical")));
  EXPECT_THAT(text, Not(HasSubstr("loss")));
}

TEST(FormatDescription, CommandOfUnknownLength_SaysNoTotal) {
  v1::Job job = CommandJob(v1::JOB_STATE_RUNNING);
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr("none reported\n"));
  job.set_step(7);
  const std::string text = FormatDescription(job, Plain());
  EXPECT_THAT(text, HasSubstr("step           7\n"));
  EXPECT_THAT(text, HasSubstr("command        python train.py --name 'a b'\n"));
  EXPECT_THAT(text, Not(HasSubstr("epoch"))) << "it need not report any";
  job.set_epoch(1);
  EXPECT_THAT(FormatDescription(job, Plain()), HasSubstr("epoch          2\n"));
}

TEST(FormatJobList, Commands_HaveTheirCommandLine) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = CommandJob(v1::JOB_STATE_RUNNING);
  *jobs.add_jobs() = FinishedJob();
  const std::vector<std::string> lines = absl::StrSplit(FormatJobList(jobs, Plain()), '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[0], EndsWith("  COMMAND"));
  EXPECT_THAT(lines[1], EndsWith("  python train.py --name 'a b'"));
  EXPECT_THAT(lines[2], EndsWith("1m5s"));
}

TEST(WorldSizeText, OtherWorkersThanNow_AreSaid) {
  v1::Job job = FinishedJob();
  EXPECT_EQ(WorldSizeText(job), "2") << "of a list, without a specification";
  job.mutable_spec()->set_workers(2);
  EXPECT_EQ(WorldSizeText(job), "2");
  job.mutable_spec()->set_workers(4);
  job.mutable_spec()->set_min_workers(1);
  EXPECT_EQ(WorldSizeText(job), "2 (1 to 4)");
  job.set_resized_min(3);
  job.set_resized_max(3);
  EXPECT_EQ(WorldSizeText(job), "2 (3 wanted)");
  EXPECT_THAT(FormatStatus(job, Plain()), Not(HasSubstr("workers"))) << "it has ended";
  job.set_state(v1::JOB_STATE_RUNNING);
  EXPECT_THAT(FormatStatus(job, Plain()), HasSubstr("\nworkers: 2 (3 wanted)\n"));
}

TEST(WorkerStateText, SaysWhatKeepsAWorkerFromWork) {
  v1::Worker worker;
  worker.set_state(v1::WORKER_STATE_CONNECTED);
  worker.add_slots()->set_job_id("digits-abc");
  EXPECT_EQ(WorkerStateText(worker), "connected");
  worker.set_draining(true);
  EXPECT_EQ(WorkerStateText(worker), "draining");
  worker.set_state(v1::WORKER_STATE_DISCONNECTED);
  EXPECT_EQ(WorkerStateText(worker), "draining, disconnected");
  worker.mutable_slots(0)->clear_job_id();
  EXPECT_EQ(WorkerStateText(worker), "drained, disconnected");
  worker.set_draining(false);
  EXPECT_EQ(WorkerStateText(worker), "disconnected");
}

TEST(FormatWorkers, Slots_SayWhoUsesThem) {
  v1::ListWorkersResponse workers;
  v1::Worker* worker = workers.add_workers();
  worker->set_name("node-a");
  worker->add_slots()->set_name("cpu:0");
  v1::SlotStatus* busy = worker->add_slots();
  busy->set_name("cpu:1");
  busy->set_job_id("digits-abc");
  busy->set_rank(3);
  const std::string text = FormatWorkers(workers, Plain());
  EXPECT_THAT(text, HasSubstr("cpu:0          free"));
  EXPECT_THAT(text, HasSubstr("cpu:1          digits-abc rank 3"));
}

TEST(FormatWorkers, SlotsOnDevices_SayWhichAndHowLarge) {
  v1::ListWorkersResponse workers;
  v1::SlotStatus* slot = workers.add_workers()->add_slots();
  slot->set_name("cuda:0");
  slot->set_model("NVIDIA H200");
  slot->set_memory_bytes(150'754'820'096);
  EXPECT_THAT(FormatWorkers(workers, Plain()), HasSubstr("cuda:0  NVIDIA H200, 140 GiB  free"));
}

TEST(FormatWorkers, Workers_SayWhetherTheyAllowCommands) {
  v1::ListWorkersResponse workers;
  for (const bool allows : {true, false}) {
    v1::Worker* worker = workers.add_workers();
    worker->set_allows_commands(allows);
    worker->add_slots()->set_name("cpu:0");
  }
  const std::vector<std::string> lines = absl::StrSplit(FormatWorkers(workers, Plain()), '\n');
  EXPECT_THAT(lines[0], HasSubstr("COMMANDS"));
  EXPECT_THAT(lines[1], HasSubstr("  allowed  "));
  EXPECT_THAT(lines[2], HasSubstr("  no  "));
}

TEST(FormatLogLine, Prefix_NamesRankAndLaterAttempts) {
  v1::LogLine line;
  line.set_text("hello");
  line.set_rank(1);
  line.set_attempt(1);
  EXPECT_EQ(FormatLogLine(line, true), "[1] hello\n");
  EXPECT_EQ(FormatLogLine(line, false), "hello\n");
  line.set_attempt(2);
  EXPECT_EQ(FormatLogLine(line, true), "[2:1] hello\n");
}

v1::GetHistoryResponse History(int steps) {
  v1::GetHistoryResponse history;
  for (int step = 1; step <= steps; ++step) {
    v1::StepSample* sample = history.add_samples();
    sample->set_step(static_cast<uint64_t>(step));
    sample->set_loss_sum(1.0 / step);
    sample->set_count(3);
    sample->set_learning_rate(0.1);
  }
  return history;
}

TEST(FormatLossTable, MoreStepsThanRows_KeepsTheLast) {
  const std::vector<std::string> lines = absl::StrSplit(FormatLossTable(History(1000), 10), '\n');
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_THAT(lines[1], HasSubstr("100 "));
  EXPECT_THAT(lines[10], HasSubstr("1000 "));
}

TEST(FormatLossTable, Evaluation_StandsBesideItsStep) {
  v1::GetHistoryResponse history = History(2);
  history.add_evaluations()->set_step(2);
  history.mutable_evaluations(0)->set_accuracy(0.5);
  const std::vector<std::string> lines = absl::StrSplit(FormatLossTable(history, 10), '\n');
  EXPECT_THAT(lines[1], Not(HasSubstr("%")));
  EXPECT_THAT(lines[2], HasSubstr("50.00 %"));
}

TEST(FormatLossTable, EvaluationOfNumbers_HasNoAccuracy) {
  v1::GetHistoryResponse history = History(1);
  history.add_evaluations()->set_step(1);
  EXPECT_THAT(FormatLossTable(history, 10), Not(HasSubstr("%")));
}

TEST(FormatLossTable, EverythingMasked_IsADash) {
  v1::GetHistoryResponse history = History(2);
  history.mutable_samples(1)->set_count(0);
  history.mutable_samples(1)->set_loss_sum(std::nan(""));
  const std::vector<std::string> lines = absl::StrSplit(FormatLossTable(history, 10), '\n');
  EXPECT_THAT(lines[1], HasSubstr("0.333333"));
  EXPECT_THAT(lines[2], HasSubstr("-  "));
  EXPECT_THAT(lines[2], Not(HasSubstr("nan")));
}

TEST(FormatLossCsv, EverythingMasked_LeavesTheCellEmpty) {
  v1::GetHistoryResponse history = History(1);
  history.mutable_samples(0)->set_count(0);
  EXPECT_THAT(FormatLossCsv(history), HasSubstr("\n1,0,,0,0.10000000000000001\n"));
}

TEST(FormatLossCsv, Numbers_ReadBackAsTheSameBits) {
  const std::string csv = FormatLossCsv(History(3));
  EXPECT_THAT(csv, HasSubstr("step,epoch,loss,samples,learning_rate\n"));
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n');
  const std::vector<std::string> cells = absl::StrSplit(lines[3], ',');
  EXPECT_EQ(std::stod(cells[2]), (1.0 / 3) / 3);
}

TEST(Sparkline, Values_RiseFromLowToHigh) {
  EXPECT_EQ(Sparkline({0, 7}, 10), "▁█");
  EXPECT_EQ(Sparkline({1, 1}, 10), "▁▁");
  EXPECT_EQ(Sparkline({}, 10), "");
  EXPECT_EQ(Sparkline({0, std::nan(""), 7}, 10), "▁x█");
  EXPECT_EQ(Sparkline({std::nan("")}, 10), "x");
}

TEST(Sparkline, MoreValuesThanColumns_AreAveraged) { EXPECT_EQ(Sparkline({0, 0, 7, 7}, 2), "▁█"); }

TEST(EnvironmentBlock, OfACommand_IsThatOfItsLauncher) {
  EnvironmentBlock block;
  for (const char* line : {"tandem-command 0.1", "  RANK 0", "hello"}) block.Add(line);
  EXPECT_EQ(block.text(), "tandem-command 0.1\n  RANK 0\n");
}

TEST(EnvironmentBlock, LastBlock_Counts) {
  EnvironmentBlock block;
  for (const char* line : {"noise", "tandem-trainer 1", "  rank  0", "step 1", "  not part",
                           "tandem-trainer 2", "  rank  1", ""}) {
    block.Add(line);
  }
  EXPECT_EQ(block.text(), "tandem-trainer 2\n  rank  1\n");
}

TEST(ToJson, JobWithoutALoss_HasNoneInItsJson) {
  v1::Job job = FinishedJob();
  job.clear_loss();
  job.clear_evaluation();
  EXPECT_THAT(ToJson(job), Not(HasSubstr("\"loss\": ")));
}

TEST(ToJson, Job_HasTheFieldsThatScriptsRead) {
  v1::Job job = FailedJob();
  job.clear_step();
  job.mutable_receipt()->set_digest(~uint64_t{1});
  job.mutable_checkpoint()->set_step(7);
  const std::string json = ToJson(job);
  for (const char* field : {"id", "name", "state", "attempt", "worldSize", "logicalRanks", "step",
                            "epoch", "loss", "parameterDigest", "masterPort", "ranks", "cause",
                            "waitingReason", "receipt", "checkpoint"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"") + field + "\":"));
  }
  v1::Job read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &read).ok());
  EXPECT_EQ(read.loss(), job.loss());
  EXPECT_EQ(read.receipt().digest(), job.receipt().digest());
}

TEST(DurationText, IsFinerWhenShort) {
  EXPECT_EQ(DurationText(absl::Milliseconds(1239)), "1.23s");
  EXPECT_EQ(DurationText(absl::Milliseconds(83999)), "1m23s");
}

}  // namespace
}  // namespace tandem::client
