#include "server/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

#include "common/temporary_folder.h"
#include "server/fake_worker.h"
#include "server/store/sqlite_journal.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::JobSpec Spec(uint32_t workers = 1) {
  v1::JobSpec spec;
  spec.set_name("digits");
  spec.set_workers(workers);
  spec.set_global_batch_size(64);
  spec.set_steps(10);
  spec.mutable_data()->mutable_csv()->set_path("/data/digits.csv");
  spec.mutable_data()->mutable_csv()->set_classes(10);
  spec.mutable_model()->mutable_mlp()->add_hidden(64);
  spec.mutable_optimizer()->mutable_adamw()->set_lr(0.001);
  return spec;
}

// Its first failure is its end.
v1::JobSpec Unforgiving() {
  v1::JobSpec spec = Spec();
  spec.mutable_restart()->set_max(0);
  return spec;
}

// A coordinator on ports of its own, and a client that gives every call half a minute.
class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    options_.state_dir = root_.path() + "/state";
    options_.listen = "127.0.0.1:0";
    options_.http = "127.0.0.1:0";
    Start();
  }

  void Start() {
    auto daemon = Daemon::Start(options_, clock_, [](absl::LogSeverity, absl::string_view) {});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    channel_ =
        grpc::CreateChannel(daemon_->grpc_address().ToString(), grpc::InsecureChannelCredentials());
    jobs_ = v1::JobService::NewStub(channel_);
  }
  void Restart() {
    daemon_.reset();
    Start();
  }

  std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return context;
  }
  // Calls a method of the stub and returns its status; `response` is what it answered.
  template <typename Request, typename Response>
  grpc::StatusCode Call(grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                        const Request& request, Response* response) {
    return (jobs_.get()->*method)(Context().get(), request, response).error_code();
  }

  std::string Submit(const v1::JobSpec& spec, const std::string& request_id = "") {
    v1::SubmitJobRequest request;
    *request.mutable_spec() = spec;
    request.set_request_id(request_id);
    v1::SubmitJobResponse response;
    EXPECT_EQ(Call(&v1::JobService::Stub::SubmitJob, request, &response), grpc::StatusCode::OK);
    return response.job().id();
  }
  grpc::StatusCode Cancel(const std::string& job) {
    v1::CancelJobRequest request;
    request.set_job_id(job);
    v1::CancelJobResponse response;
    return Call(&v1::JobService::Stub::CancelJob, request, &response);
  }
  v1::Job Get(const std::string& job) {
    v1::GetJobRequest request;
    request.set_job_id(job);
    v1::GetJobResponse response;
    EXPECT_EQ(Call(&v1::JobService::Stub::GetJob, request, &response), grpc::StatusCode::OK);
    return response.job();
  }
  v1::GetHistoryResponse History(const std::string& job, uint64_t from_step, uint32_t page_size) {
    v1::GetHistoryRequest request;
    request.set_job_id(job);
    request.set_from_step(from_step);
    request.set_page_size(page_size);
    v1::GetHistoryResponse response;
    EXPECT_EQ(Call(&v1::JobService::Stub::GetHistory, request, &response), grpc::StatusCode::OK);
    return response;
  }
  // Follows the job until it is in this state, or the stream ends; returns what was seen last.
  v1::Job WaitFor(const std::string& job, v1::JobState state) {
    return WaitUntil(job, [state](const v1::Job& seen) { return seen.state() == state; });
  }
  v1::Job WaitUntil(const std::string& job, const std::function<bool(const v1::Job&)>& done) {
    const auto context = Context();
    v1::WatchJobRequest request;
    request.set_job_id(job);
    const auto stream = jobs_->WatchJob(context.get(), request);
    v1::WatchJobResponse response;
    while (stream->Read(&response) && !done(response.job())) {
    }
    context->TryCancel();
    stream->Finish();
    return response.job();
  }
  // Reads the log to its end.
  std::vector<std::string> Logs(const v1::StreamLogsRequest& request) {
    const auto context = Context();
    const auto stream = jobs_->StreamLogs(context.get(), request);
    std::vector<std::string> texts;
    v1::StreamLogsResponse response;
    while (stream->Read(&response)) {
      for (const v1::LogLine& line : response.lines()) texts.push_back(line.text());
    }
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::OK);
    return texts;
  }
  std::string HttpGet(const std::string& path) {
    const HostPort& address = daemon_->http_address();
    const auto response = httplib::Client(address.host, address.port).Get(path);
    return response ? response->body : "";
  }

  // A worker with one slot takes the job up and runs it to just before its end.
  v1::PrepareRanks Run(FakeWorker& worker) {
    worker.Register(1);
    EXPECT_TRUE(worker.Read().has_registered());
    v1::PrepareRanks attempt = worker.Read().prepare_ranks();
    worker.Prepared(attempt, 0);
    EXPECT_TRUE(worker.Read().has_start_ranks());
    return attempt;
  }
  void End(FakeWorker& worker, const v1::PrepareRanks& attempt) {
    worker.Finished(attempt, 0, "d16e57");
    worker.Exited(attempt, 0, 0, false);
  }

  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-test");
  DaemonOptions options_;
  SystemClock clock_;
  std::unique_ptr<Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
};

TEST_F(DaemonTest, Job_FromSubmitToTheEnd_Succeeds) {
  const std::string job = Submit(Spec());
  EXPECT_EQ(Get(job).state(), v1::JOB_STATE_QUEUED);
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  EXPECT_EQ(attempt.job_id(), job);
  EXPECT_EQ(attempt.spec().optimizer().adamw().beta1(), 0.9);  // Defaults are filled in.
  worker.Progressed(attempt, 1, 10, 0.5);
  End(worker, attempt);
  const v1::Job ended = WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ended.parameter_digest(), "d16e57");
  EXPECT_EQ(ended.loss(), 0.5);
  EXPECT_EQ(ended.step(), 10u);
}

TEST_F(DaemonTest, Job_OnTwoWorkers_StartsWhenBothAreReady) {
  Submit(Spec(2));
  FakeWorker first(channel_, "w1");
  FakeWorker second(channel_, "w2");
  first.Register(1);
  second.Register(1);
  EXPECT_TRUE(first.Read().has_registered());
  EXPECT_TRUE(second.Read().has_registered());
  const v1::PrepareRanks one = first.Read().prepare_ranks();
  const v1::PrepareRanks two = second.Read().prepare_ranks();
  first.Prepared(one, one.ranks(0).rank());
  second.Prepared(two, two.ranks(0).rank());
  EXPECT_EQ(first.Read().start_ranks().start().master_port(), 12345u);
  EXPECT_EQ(second.Read().start_ranks().start().master_port(), 12345u);
}

TEST_F(DaemonTest, WatchJob_ToTheEnd_SeesTheFinalStateAndCloses) {
  const std::string job = Submit(Spec());
  const auto context = Context();
  v1::WatchJobRequest request;
  request.set_job_id(job);
  const auto stream = jobs_->WatchJob(context.get(), request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_QUEUED);
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  for (uint64_t step = 1; step <= 10; ++step) worker.Progressed(attempt, step, step, 0.5);
  End(worker, attempt);
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::OK);
}

TEST_F(DaemonTest, WatchJob_OfAnEndedJob_SendsItAndCloses) {
  const std::string job = Submit(Spec());
  ASSERT_EQ(Cancel(job), grpc::StatusCode::OK);
  EXPECT_EQ(WaitFor(job, v1::JOB_STATE_UNSPECIFIED).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(DaemonTest, StreamLogs_Follow_EndsWithTheJobAndMissesNothing) {
  const std::string job = Submit(Spec());
  v1::StreamLogsRequest request;
  request.set_job_id(job);
  request.set_follow(true);
  std::vector<std::string> followed;
  std::thread follower([&] { followed = Logs(request); });
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    expected.push_back("line " + std::to_string(i));
    worker.Logged(attempt, 0, expected.back());
  }
  End(worker, attempt);
  follower.join();
  EXPECT_EQ(followed, expected);
  request.set_follow(false);
  EXPECT_EQ(Logs(request), expected);
  request.set_rank(1);
  EXPECT_TRUE(Logs(request).empty());
}

TEST_F(DaemonTest, GetHistory_InPages_GivesEveryStepOnce) {
  const std::string job = Submit(Spec());
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  worker.Progressed(attempt, 1, 10, 0.5);
  End(worker, attempt);
  WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  const v1::GetHistoryResponse first = History(job, 0, 6);
  EXPECT_EQ(first.samples_size(), 6);
  EXPECT_EQ(first.next_step(), 7u);
  const v1::GetHistoryResponse last = History(job, first.next_step(), 0);
  EXPECT_EQ(last.samples_size(), 4);
  EXPECT_EQ(last.next_step(), 0u);
}

TEST_F(DaemonTest, Receipt_AfterARestart_IsWhatTheLastStepLeft) {
  const std::string job = Submit(Spec());
  EXPECT_EQ(Get(job).receipt().level(), v1::EQUIVALENCE_LEVEL_BITWISE);
  {
    FakeWorker worker(channel_, "w");
    const v1::PrepareRanks attempt = Run(worker);
    worker.Progressed(attempt, 1, 10, 0.5);
    End(worker, attempt);
    WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  }
  Restart();
  EXPECT_EQ(Get(job).receipt().step(), 10u);
  EXPECT_EQ(Get(job).receipt().digest(), 1010u);
  const v1::GetHistoryResponse history = History(job, 10, 0);
  ASSERT_EQ(history.samples_size(), 1);
  EXPECT_EQ(history.samples(0).samples_digest(), 110u);
  EXPECT_EQ(history.samples(0).receipt(), 1010u);
}

TEST_F(DaemonTest, Checkpoint_OfAnAttemptThatWasLost_IsKeptForTheNext) {
  v1::JobSpec spec = Spec();
  spec.mutable_restart()->mutable_backoff()->set_nanos(1'000'000);
  const std::string job = Submit(spec);
  {
    FakeWorker worker(channel_, "w", "1");
    const v1::PrepareRanks attempt = Run(worker);
    worker.Progressed(attempt, 1, 6, 0.5);
    worker.Saved(attempt, 5, "/checkpoints/5");
    WaitUntil(job, [](const v1::Job& seen) { return seen.has_checkpoint(); });
    Restart();
  }
  EXPECT_EQ(Get(job).checkpoint().path(), "/checkpoints/5");
  FakeWorker worker(channel_, "w", "2");
  const v1::PrepareRanks attempt = Run(worker);
  worker.Progressed(attempt, 6, 10, 0.25);
  End(worker, attempt);
  WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Get(job).first_step(), 6u);
  const v1::GetHistoryResponse history = History(job, 0, 0);
  ASSERT_EQ(history.samples_size(), 10);
  EXPECT_EQ(history.samples(4).loss_sum(), 32);
  EXPECT_EQ(history.samples(5).loss_sum(), 16);
}

TEST_F(DaemonTest, CancelJob_Running_AbortsTheRanksAndEnds) {
  const std::string job = Submit(Spec());
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  EXPECT_EQ(Cancel(job), grpc::StatusCode::OK);
  EXPECT_EQ(Cancel(job), grpc::StatusCode::OK);
  EXPECT_EQ(worker.Read().abort().job_id(), job);
  EXPECT_EQ(Get(job).state(), v1::JOB_STATE_CANCELLING);
  worker.Exited(attempt, 0, 0, true);
  EXPECT_EQ(WaitFor(job, v1::JOB_STATE_CANCELLED).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Cancel(job), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(DaemonTest, Worker_StaysAwayForLongerThanItsLease_FailsItsJobWithThatCause) {
  options_.core.worker_lease = absl::Seconds(1);
  Restart();
  const std::string job = Submit(Unforgiving());
  FakeWorker worker(channel_, "w");
  Run(worker);
  worker.Vanish();
  WaitUntil(job, [](const v1::Job& seen) { return seen.has_cause(); });
  const v1::Job failed = WaitFor(job, v1::JOB_STATE_FAILED);
  EXPECT_EQ(failed.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(failed.cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_THAT(HttpGet("/metrics"), HasSubstr("tandem_failures_total{cause=\"worker_lost\"} 1"));
}

TEST_F(DaemonTest, Errors_ComeWithTheirCodes) {
  v1::JobSpec bad = Spec();
  bad.clear_name();
  v1::SubmitJobRequest submit;
  *submit.mutable_spec() = bad;
  v1::SubmitJobResponse submitted;
  EXPECT_EQ(Call(&v1::JobService::Stub::SubmitJob, submit, &submitted),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::GetJobResponse got;
  EXPECT_EQ(Call(&v1::JobService::Stub::GetJob, {}, &got), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Cancel("nope"), grpc::StatusCode::NOT_FOUND);
  v1::GetHistoryResponse history;
  EXPECT_EQ(Call(&v1::JobService::Stub::GetHistory, {}, &history), grpc::StatusCode::NOT_FOUND);
  auto context = Context();
  EXPECT_EQ(jobs_->WatchJob(context.get(), {})->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  context = Context();
  EXPECT_EQ(jobs_->StreamLogs(context.get(), {})->Finish().error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, SubmitJob_SameRequestId_IsTheSameJobAlsoAfterARestart) {
  const std::string job = Submit(Spec(), "once");
  EXPECT_EQ(Submit(Spec(), "once"), job);
  Restart();
  EXPECT_EQ(Submit(Spec(), "once"), job);
}

TEST_F(DaemonTest, ListJobs_ByState_IsNewestFirstWithoutSpecs) {
  const std::string first = Submit(Spec());
  const std::string second = Submit(Spec());
  const std::string third = Submit(Spec());
  Cancel(second);
  v1::ListJobsRequest request;
  request.add_states(v1::JOB_STATE_QUEUED);
  v1::ListJobsResponse response;
  ASSERT_EQ(Call(&v1::JobService::Stub::ListJobs, request, &response), grpc::StatusCode::OK);
  ASSERT_EQ(response.jobs_size(), 2);
  EXPECT_EQ(response.jobs(0).id(), third);
  EXPECT_EQ(response.jobs(1).id(), first);
  EXPECT_FALSE(response.jobs(0).has_spec());
}

TEST_F(DaemonTest, ListJobs_Commands_HaveTheirProgramWhereThatIsShort) {
  v1::JobSpec spec;
  spec.set_name("train");
  spec.mutable_command()->add_argv("./train");
  spec.mutable_command()->add_env("TOKEN=secret");
  spec.mutable_command()->set_working_dir("/");
  Submit(spec);
  spec.mutable_command()->add_argv(std::string(1000, 'x'));
  Submit(spec);
  v1::ListJobsResponse response;
  ASSERT_EQ(Call(&v1::JobService::Stub::ListJobs, {}, &response), grpc::StatusCode::OK);
  ASSERT_EQ(response.jobs_size(), 2);
  EXPECT_FALSE(response.jobs(0).has_spec());
  EXPECT_THAT(response.jobs(1).spec().command().argv(), ElementsAre("./train"));
  EXPECT_THAT(response.jobs(1).spec().command().env(), testing::IsEmpty());
}

TEST_F(DaemonTest, ListJobs_FailedJob_LeavesRanksAndLastLinesToGetJob) {
  const std::string job = Submit(Unforgiving());
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  v1::WorkerToCoordinator message;
  v1::RankExited& exited = *message.mutable_rank_exited();
  exited.set_job_id(job);
  exited.set_attempt(attempt.attempt());
  exited.set_exit_code(1);
  exited.add_last_lines("last words");
  worker.Write(message);
  const v1::Job failed = WaitFor(job, v1::JOB_STATE_FAILED);
  EXPECT_THAT(failed.cause().last_lines(), ElementsAre("last words"));
  EXPECT_EQ(failed.ranks_size(), 1);
  v1::ListJobsResponse response;
  ASSERT_EQ(Call(&v1::JobService::Stub::ListJobs, {}, &response), grpc::StatusCode::OK);
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).cause().message(), failed.cause().message());
  EXPECT_EQ(response.jobs(0).cause().last_lines_size(), 0);
  EXPECT_EQ(response.jobs(0).ranks_size(), 0);
}

// Longer than gRPC takes by default.
TEST_F(DaemonTest, Http_LongListOfJobs_IsServed) {
  FakeWorker worker(channel_, "w");
  worker.Register(1);
  ASSERT_TRUE(worker.Read().has_registered());
  for (int i = 0; i < 3; ++i) {
    const std::string job = Submit(Unforgiving());
    v1::WorkerToCoordinator message;
    v1::RankExited& exited = *message.mutable_rank_exited();
    exited.set_job_id(job);
    exited.set_attempt(worker.Read().prepare_ranks().attempt());
    exited.mutable_failure()->set_message(std::string(2 << 20, 'x'));
    worker.Write(message);
    WaitFor(job, v1::JOB_STATE_FAILED);
  }
  EXPECT_GT(HttpGet("/api/v1/jobs").size(), size_t{6} << 20);
}

TEST_F(DaemonTest, Worker_PrintsAHugeLine_StaysConnected) {
  const std::string job = Submit(Spec());
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  worker.Logged(attempt, 0, std::string(5 << 20, 'x'));
  End(worker, attempt);
  EXPECT_EQ(WaitFor(job, v1::JOB_STATE_SUCCEEDED).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(DaemonTest, SubmitJob_RelativePath_IsRefusedByItsKey) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec();
  request.mutable_spec()->mutable_data()->mutable_csv()->set_path("digits.csv");
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->SubmitJob(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "data.csv.path: must be absolute; the client resolves relative paths");
}

TEST_F(DaemonTest, Connect_FirstMessageIsNotRegister_IsRefused) {
  FakeWorker worker(channel_, "w");
  worker.Write({});
  EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, Connect_WithoutSlots_IsRefused) {
  FakeWorker worker(channel_, "w");
  worker.Register(0);
  EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, Connect_NameIsTaken_IsRefusedAndTheFirstStays) {
  FakeWorker first(channel_, "w", "1");
  first.Register(1);
  ASSERT_TRUE(first.Read().has_registered());
  FakeWorker second(channel_, "w", "2");
  second.Register(1);
  EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  Submit(Spec());
  EXPECT_TRUE(first.Read().has_prepare_ranks());
}

TEST_F(DaemonTest, Worker_Floods_OthersAreStillAnswered) {
  FakeWorker flooder(channel_, "w");
  flooder.Register(1);
  v1::WorkerToCoordinator noise;
  noise.mutable_heartbeat()->add_ranks()->set_job_id("nobody");
  noise.mutable_heartbeat()->mutable_ranks(0)->set_attempt(1);
  std::thread flood([&] {
    for (int i = 0; i < 5000; ++i) flooder.Write(noise);
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Cancel("nope"), grpc::StatusCode::NOT_FOUND);
  flood.join();
  EXPECT_EQ(HttpGet("/healthz"), "ok\n");
}

TEST_F(DaemonTest, Clients_VanishMidStream_LeaveTheDaemonWell) {
  const std::string job = Submit(Spec());
  for (int i = 0; i < 50; ++i) {
    const auto context = Context();
    v1::WatchJobRequest watch;
    watch.set_job_id(job);
    const auto stream = jobs_->WatchJob(context.get(), watch);
    v1::WatchJobResponse response;
    if (i % 2 == 0) stream->Read(&response);
    context->TryCancel();
    stream->Finish();
  }
  Cancel(job);
  EXPECT_EQ(Get(job).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(DaemonTest, Restart_KeepsJobsHistoryAndLogs) {
  const std::string done = Submit(Spec());
  {
    FakeWorker worker(channel_, "w");
    const v1::PrepareRanks attempt = Run(worker);
    worker.Progressed(attempt, 1, 10, 0.5);
    worker.Logged(attempt, 0, "hello");
    End(worker, attempt);
    WaitFor(done, v1::JOB_STATE_SUCCEEDED);
  }
  const std::string waiting = Submit(Spec(2));
  Restart();
  EXPECT_EQ(Get(done).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Get(done).loss(), 0.5);
  EXPECT_EQ(History(done, 0, 0).samples_size(), 10);
  v1::StreamLogsRequest logs;
  logs.set_job_id(done);
  logs.set_follow(true);
  EXPECT_THAT(Logs(logs), ElementsAre("hello"));
  EXPECT_EQ(Get(waiting).state(), v1::JOB_STATE_QUEUED);
}

TEST_F(DaemonTest, Restart_WhileAJobRuns_ItsAgentComesBackAndTheJobGoesOn) {
  const std::string job = Submit(Spec());
  v1::PrepareRanks attempt;
  {
    FakeWorker worker(channel_, "w");
    attempt = Run(worker);
    worker.Progressed(attempt, 1, 4, 0.5);
    WaitUntil(job, [](const v1::Job& seen) { return seen.step() == 4; });
    daemon_->Stop();
  }
  Restart();
  EXPECT_EQ(Get(job).state(), v1::JOB_STATE_RUNNING);
  FakeWorker worker(channel_, "w");
  worker.RegisterAgain(1, attempt);
  EXPECT_TRUE(worker.Read().has_registered());
  EXPECT_EQ(worker.Read().start_ranks().start().attempt(), 1u);
  worker.Progressed(attempt, 5, 10, 0.25);
  End(worker, attempt);
  WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Get(job).attempt(), 1u);
  EXPECT_EQ(History(job, 0, 0).samples_size(), 10);
}

// Each with the losses of a thousand steps.
TEST_F(DaemonTest, Restart_WithAThousandJobs_IsReadyWithinASecond) {
  daemon_->Stop();
  daemon_.reset();
  {
    const auto journal = store::SqliteJournal::Open(options_.state_dir + "/tandem.db");
    ASSERT_TRUE(journal.ok()) << journal.status();
    for (uint64_t i = 1; i <= 1000; ++i) {
      store::Batch batch;
      v1::JobRecord& record = batch.jobs.emplace_back();
      record.set_sequence(i);
      record.mutable_job()->set_id("job-" + std::to_string(i));
      record.mutable_job()->set_state(i % 10 == 0 ? v1::JOB_STATE_QUEUED : v1::JOB_STATE_SUCCEEDED);
      *record.mutable_job()->mutable_spec() = Spec();
      batch.progress.push_back({JobId(record.job().id()), {}});
      for (uint64_t step = 1; step <= 1000; ++step) {
        batch.progress[0].progress.add_samples()->set_step(step);
      }
      ASSERT_TRUE((*journal)->Commit(batch).ok());
    }
  }
  const absl::Time start = absl::Now();
  Start();
  v1::ListJobsResponse response;
  ASSERT_EQ(Call(&v1::JobService::Stub::ListJobs, {}, &response), grpc::StatusCode::OK);
  const absl::Duration took = absl::Now() - start;
  std::cout << "ready after " << took << std::endl;
  EXPECT_EQ(response.jobs_size(), 1000);
  EXPECT_LT(took, absl::Seconds(1));
}

TEST_F(DaemonTest, Stop_EndsEveryStreamWithUnavailable) {
  const std::string job = Submit(Spec());
  const auto context = Context();
  v1::WatchJobRequest request;
  request.set_job_id(job);
  const auto stream = jobs_->WatchJob(context.get(), request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(stream->Read(&response));
  FakeWorker worker(channel_, "w");
  worker.Register(1);
  ASSERT_TRUE(worker.Read().has_registered());
  daemon_->Stop();
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonTest, Start_StateDirectoryInUse_IsRefused) {
  const auto second = Daemon::Start(options_, clock_, [](absl::LogSeverity, absl::string_view) {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DaemonTest, Start_PortInUse_NamesAddressAndFlag) {
  DaemonOptions options = options_;
  options.state_dir = root_.path() + "/other";
  options.listen = daemon_->grpc_address().ToString();
  const auto second = Daemon::Start(options, clock_, [](absl::LogSeverity, absl::string_view) {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr(options.listen), HasSubstr("--listen")));
}

TEST_F(DaemonTest, Http_RunningJob_IsOnEveryPathAndItsSeriesGoWithIt) {
  const std::string job = Submit(Spec());
  FakeWorker worker(channel_, "w");
  const v1::PrepareRanks attempt = Run(worker);
  worker.Progressed(attempt, 1, 4, 0.25);
  while (History(job, 4, 0).samples().empty()) std::this_thread::yield();
  EXPECT_THAT(HttpGet("/metrics"),
              AllOf(HasSubstr("tandem_job_loss{job_id=\"" + job + "\",name=\"digits\"} 0.25"),
                    HasSubstr("tandem_jobs{state=\"running\"} 1"),
                    HasSubstr("tandem_slots{state=\"busy\"} 1"), HasSubstr("tandem_steps_total 4"),
                    HasSubstr("tandem_samples_total 256"), HasSubstr("tandem_attempts_total 1"),
                    HasSubstr("tandem_rendezvous_seconds_count 1")));
  EXPECT_THAT(HttpGet("/api/v1/jobs"), HasSubstr(job));
  EXPECT_THAT(HttpGet("/api/v1/jobs/" + job), HasSubstr("\"loss\":0.25"));
  EXPECT_THAT(HttpGet("/api/v1/jobs/" + job + "/history?from_step=3"), HasSubstr("\"step\":\"4\""));
  EXPECT_THAT(HttpGet("/api/v1/workers"), HasSubstr(job));
  worker.Progressed(attempt, 5, 10, 0.25);
  End(worker, attempt);
  WaitFor(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(HttpGet("/metrics"), AllOf(Not(HasSubstr(job)), HasSubstr("tandem_steps_total 10")));
}

}  // namespace
}  // namespace tandem
