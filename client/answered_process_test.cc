// The program as scripts use it, with a coordinator that answers.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/testing/fake_coordinator.h"
#include "client/testing/process_fixture.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AnsweredProcessTest : public ProcessTest {
 protected:
  AnsweredProcessTest() { coordinator_ = fake_.address(); }

  static v1::Job Ended(v1::JobState state) {
    v1::Job job = MakeJob("digits-1", state);
    job.set_step(10);
    job.set_total_steps(10);
    job.set_loss(0.25);
    if (state == v1::JOB_STATE_FAILED) job.mutable_cause()->set_message("rank 1 said no");
    return job;
  }

  FakeCoordinator fake_;
};

TEST_F(AnsweredProcessTest, Submit_PrintsOnlyTheId) {
  const Result result = Tandem("submit " + spec_file_ + " --workers 2 --priority -5");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "digits-1\n");
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(fake_.submitted().size(), 1u);
  EXPECT_EQ(fake_.submitted()[0].spec().workers(), 2u);
  EXPECT_EQ(fake_.submitted()[0].spec().priority(), -5);
}

TEST_F(AnsweredProcessTest, Submit_OfARange_IsAnElasticJob) {
  v1::JobSpec spec = Spec();
  spec.mutable_checkpoint()->set_dir(folder_);
  WriteSpec(spec);
  EXPECT_EQ(Tandem("submit " + spec_file_ + " --workers 2-4").code, 0);
  ASSERT_EQ(fake_.submitted().size(), 1u);
  EXPECT_EQ(fake_.submitted()[0].spec().min_workers(), 2u);
  EXPECT_EQ(fake_.submitted()[0].spec().workers(), 4u);
}

TEST_F(AnsweredProcessTest, Submit_RefusedByTheCoordinator_ExitsWith2) {
  fake_.submit_status = {grpc::StatusCode::INVALID_ARGUMENT, "steps: no"};
  const Result result = Tandem("submit " + spec_file_);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "tandem: steps: no\n");
}

TEST_F(AnsweredProcessTest, Run_JobSucceeds_ExitsWith0AndAnswersOnStandardOutput) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_QUEUED), Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("run " + spec_file_);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("digits-1  SUCCEEDED\n"));
  EXPECT_THAT(result.err, HasSubstr("QUEUED"));
}

TEST_F(AnsweredProcessTest, Run_JobFails_ExitsWith1AndSaysWhy) {
  fake_.watches = {{{Ended(v1::JOB_STATE_FAILED)}}};
  const Result result = Tandem("run " + spec_file_);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("cause: rank 1 said no"));
}

TEST_F(AnsweredProcessTest, Run_Json_IsOneDocument) {
  fake_.watches = {{{Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("-o json run " + spec_file_);
  v1::Job job;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &job).ok()) << result.out;
  EXPECT_EQ(job.loss(), 0.25);
}

TEST_F(AnsweredProcessTest, Run_Interrupted_CancelsTheJobAndExitsWith130) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_RUNNING)}, grpc::Status::OK, true},
                   {{Ended(v1::JOB_STATE_CANCELLED)}}};
  // The signal is sent when the first line of progress shows that the job is being watched.
  const Result result = Tandem(absl::StrCat("run ", spec_file_, " 2>", folder_,
                                            "/progress & pid=$!; until grep -qs RUNNING ", folder_,
                                            "/progress; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(fake_.cancelled(), testing::ElementsAre("digits-1"));
}

TEST_F(AnsweredProcessTest, RunLocal_DoesNotSayThatItsWorkerIsYetToConnect) {
  RunACopy();
  WriteProgram("tandemd", absl::StrCat("while [ \"$1\" != --port-file ]; do shift; done; ",
                                       "echo grpc ", fake_.address(), " >\"$2\"; exec sleep 1000"));
  WriteProgram("tandem-worker", "exec sleep 1000");
  v1::Job queued = MakeJob("digits-1", v1::JOB_STATE_QUEUED);
  queued.set_waiting_reason("no worker is connected");
  fake_.watches = {{{queued, Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("run " + spec_file_ + " --local 4");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "digits-1 QUEUED\n");
}

TEST_F(AnsweredProcessTest, Run_InAPipe_SaysTheEndOnce) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_RUNNING), Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("run " + spec_file_);
  EXPECT_THAT(result.out, HasSubstr("SUCCEEDED"));
  EXPECT_THAT(result.err, Not(HasSubstr("SUCCEEDED")));
}

TEST_F(AnsweredProcessTest, Wait_Interrupted_SaysThatTheJobGoesOn) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.watches = {{fake_.jobs, grpc::Status::OK, true}};
  const std::string progress = folder_ + "/progress";
  const Result result =
      Tandem(absl::StrCat("wait digits-1 2>", progress, " & pid=$!; until grep -qs RUNNING ",
                          progress, "; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(Contents(progress),
            "digits-1 RUNNING\ninterrupted; digits-1 goes on (tandem cancel digits-1 stops it)\n");
  EXPECT_THAT(fake_.cancelled(), testing::IsEmpty());
}

TEST_F(AnsweredProcessTest, Logs_FollowedAndInterrupted_SayThatTheJobGoesOn) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.logs.emplace_back();
  fake_.logs.back().set_text("a line");
  fake_.logs_wait_for_client = true;
  const std::string log = folder_ + "/log";
  const Result result =
      Tandem(absl::StrCat("logs -f digits-1 >", log, " & pid=$!; until grep -qs line ", log,
                          "; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(result.err, "interrupted; digits-1 goes on (tandem cancel digits-1 stops it)\n");
}

TEST_F(AnsweredProcessTest, Wait_ExitsAsTheJobDid) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.watches = {{{Ended(v1::JOB_STATE_SUCCEEDED)}}, {{Ended(v1::JOB_STATE_CANCELLED)}}};
  EXPECT_EQ(Tandem("wait dig").code, 0);
  EXPECT_EQ(Tandem("wait dig").code, 1);
}

TEST_F(AnsweredProcessTest, Wait_TimeoutRunsOut_ExitsWith124) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.watches = {{{fake_.jobs[0]}, grpc::Status::OK, true}};
  EXPECT_EQ(Tandem("wait digits-1 --timeout 100ms").code, 124);
}

TEST_F(AnsweredProcessTest, AmbiguousJob_ExitsWith2AndListsThem) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING),
                MakeJob("digits-2", v1::JOB_STATE_RUNNING)};
  const Result result = Tandem("status digits");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("digits-1, digits-2"));
  EXPECT_EQ(Tandem("status digits-2").code, 0);
  EXPECT_EQ(Tandem("list --ids").out, "digits-1\ndigits-2\n");
}

TEST_F(AnsweredProcessTest, Describe_HasTheEnvironmentOfRankZero) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  for (const char* text : {"tandem-trainer 0.1.0", "  libraries  LibTorch"}) {
    fake_.logs.emplace_back();
    fake_.logs.back().set_text(text);
  }
  EXPECT_THAT(Tandem("describe digits-1").out,
              HasSubstr("\ntandem-trainer 0.1.0\n  libraries  LibTorch\n"));
}

TEST_F(AnsweredProcessTest, Logs_OfOneRank_HaveNoPrefix) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  for (uint32_t rank : {0u, 1u}) {
    fake_.logs.emplace_back();
    fake_.logs.back().set_rank(rank);
    fake_.logs.back().set_text(absl::StrCat("from ", rank));
  }
  EXPECT_EQ(Tandem("logs digits-1").out, "[0] from 0\n[1] from 1\n");
  EXPECT_EQ(Tandem("logs digits-1 --rank 1").out, "from 1\n");
}

TEST_F(AnsweredProcessTest, Logs_FollowedOverARestart_HaveNoLineTwice) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  for (const char* text : {"a", "b", "c", "d"}) {
    fake_.logs.emplace_back();
    fake_.logs.back().set_text(text);
  }
  const grpc::Status away(grpc::StatusCode::UNAVAILABLE, "stopping");
  // The second time it is gone before it has sent again what was printed.
  fake_.log_scripts = {{2, away}, {1, away}, {3, away}};
  const Result result = Tandem("logs -f digits-1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "[0] a\n[0] b\n[0] c\n[0] d\n");
  EXPECT_THAT(result.err, HasSubstr("does not answer; trying again for 1m"));
}

TEST_F(AnsweredProcessTest, Logs_FollowedInJson_AreOneDocumentAlsoOverARestart) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.logs.resize(3);
  fake_.log_scripts = {{2, {grpc::StatusCode::UNAVAILABLE, "stopping"}}};
  v1::StreamLogsResponse lines;
  const Result result = Tandem("-o json logs -f digits-1");
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &lines).ok()) << result.out;
  EXPECT_EQ(lines.lines_size(), 3);
}

TEST_F(AnsweredProcessTest, Logs_OfAQuietRank_TellEachOutageFromTheNext) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  const grpc::Status away(grpc::StatusCode::UNAVAILABLE, "stopping");
  fake_.log_scripts = {{0, away}, {0, away}};
  const Result result = Tandem("logs -f digits-1 --rank 1");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string gone = absl::StrCat("the coordinator at ", fake_.address(),
                                        " does not answer; trying again for 1m\n");
  const std::string back = absl::StrCat("the coordinator at ", fake_.address(), " is back\n");
  EXPECT_EQ(result.err, gone + back + gone + back);
}

TEST_F(AnsweredProcessTest, Logs_NotFollowed_FailAtOnce) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.log_scripts = {{0, {grpc::StatusCode::UNAVAILABLE, "stopping"}}};
  EXPECT_EQ(Tandem("logs digits-1").code, 3);
}

TEST_F(AnsweredProcessTest, List_HasAllPages) {
  for (const char* id : {"a", "b", "c"}) {
    fake_.jobs.push_back(MakeJob(id, v1::JOB_STATE_QUEUED));
  }
  fake_.jobs_page = 2;
  EXPECT_EQ(Tandem("list --ids").out, "a\nb\nc\n");
}

TEST_F(AnsweredProcessTest, Resize_SendsNumberOrRangeAndSaysWhatIsWanted) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.jobs[0].set_world_size(2);
  EXPECT_EQ(Tandem("resize dig 3").out, "digits-1  RUNNING\nworkers: 2 (3 wanted)\n");
  EXPECT_EQ(Tandem("resize digits-1 1-4").out, "digits-1  RUNNING\nworkers: 2 (1 to 4)\n");
  ASSERT_EQ(fake_.resized().size(), 2u);
  EXPECT_EQ(fake_.resized()[0].job_id(), "digits-1");
  EXPECT_EQ(fake_.resized()[0].min_workers(), 3u);
  EXPECT_EQ(fake_.resized()[0].max_workers(), 3u);
  EXPECT_EQ(fake_.resized()[1].min_workers(), 1u);
  EXPECT_EQ(fake_.resized()[1].max_workers(), 4u);
}

v1::Worker BusyWorker() {
  v1::Worker worker;
  worker.set_name("node-a");
  worker.set_state(v1::WORKER_STATE_CONNECTED);
  worker.add_slots()->set_name("cpu:0");
  worker.mutable_slots(0)->set_job_id("digits-1");
  return worker;
}

TEST_F(AnsweredProcessTest, Drain_SaysHowFarItIs) {
  fake_.workers = {BusyWorker()};
  EXPECT_EQ(Tandem("drain node-a").out, "node-a  draining\n");
  EXPECT_EQ(Tandem("drain node-a --undo").out, "node-a  connected\n");
  ASSERT_EQ(fake_.drained().size(), 2u);
  EXPECT_TRUE(fake_.drained()[1].undo());
  EXPECT_EQ(Tandem("drain nobody").code, 2);
  EXPECT_EQ(Tandem("workers --names").out, "node-a\n");
}

TEST_F(AnsweredProcessTest, DrainWait_ReturnsWhenNoSlotIsBusyAlsoOverARestart) {
  fake_.workers = {BusyWorker()};
  fake_.worker_lists = {{grpc::StatusCode::UNAVAILABLE, "stopping"}, grpc::Status::OK};
  const Result result = Tandem("drain node-a --wait");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "node-a  drained\n");
  EXPECT_THAT(result.err, HasSubstr("does not answer"));
  EXPECT_THAT(result.err, HasSubstr("is back"));
}

TEST_F(AnsweredProcessTest, DrainWait_Interrupted_SaysHowToUndoIt) {
  fake_.workers = {BusyWorker()};
  // The first line says that the coordinator, which is away once, is looked at again and again.
  fake_.worker_lists = {{grpc::StatusCode::UNAVAILABLE, "stopping"}};
  const std::string remarks = folder_ + "/remarks";
  const Result result =
      Tandem(absl::StrCat("drain node-a --wait 2>", remarks, " & pid=$!; until grep -qs answer ",
                          remarks, "; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(Contents(remarks), HasSubstr("node-a is being drained still (tandem drain node-a "
                                           "--undo takes it into use again)\n"));
}

TEST_F(AnsweredProcessTest, CoordinatorThatIsYetToStart_IsWaitedFor) {
  const DeadPort port(false);
  coordinator_ = port.address();
  const std::string remarks = folder_ + "/remarks";
  // It starts when the command has said that it waits.
  std::unique_ptr<FakeCoordinator> late;
  std::atomic<bool> returned = false;
  std::thread starter([&] {
    while (Contents(remarks).empty() && !returned) std::this_thread::yield();
    late = std::make_unique<FakeCoordinator>(port.port());
  });
  const Result result = Tandem("list --ids --retry-for 1m 2>" + remarks);
  returned = true;
  starter.join();
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Contents(remarks), absl::StrCat("no coordinator answers at ", port.address(),
                                            " yet; trying again for 1m\n"));
}

TEST_F(AnsweredProcessTest, Loss_AsCsv) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  fake_.samples.resize(3);
  for (size_t i = 0; i < 3; ++i) fake_.samples[i].set_step(i + 1);
  const Result result = Tandem("loss digits-1 --csv");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4);
}

TEST_F(AnsweredProcessTest, Compare_EqualJobs_ExitsWith0) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_SUCCEEDED),
                MakeJob("digits-2", v1::JOB_STATE_SUCCEEDED)};
  fake_.samples.resize(1);
  fake_.samples[0].set_step(1);
  const Result result = Tandem("compare digits-1 digits-2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "bit-equal: digits-1 and digits-2 over 1 step\n");
}

TEST_F(AnsweredProcessTest, Compare_OtherSpecInJson_NamesTheKeys) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_SUCCEEDED),
                MakeJob("digits-2", v1::JOB_STATE_SUCCEEDED)};
  fake_.jobs[0].mutable_spec()->set_workers(1);
  fake_.jobs[1].mutable_spec()->set_workers(2);
  fake_.samples.resize(1);
  fake_.samples[0].set_step(1);
  v1::Comparison comparison;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                  Tandem("compare digits-1 digits-2 -o json").out, &comparison)
                  .ok());
  ASSERT_EQ(comparison.differing_keys_size(), 1);
  EXPECT_EQ(comparison.differing_keys(0), "workers: 1 -> 2");
}

TEST_F(AnsweredProcessTest, Compare_JobWithoutSteps_ExitsWith2) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_QUEUED),
                MakeJob("digits-2", v1::JOB_STATE_QUEUED)};
  const Result result = Tandem("compare digits-1 digits-2");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("digits-1 has not done a step yet"));
}

}  // namespace
}  // namespace tandem::client
