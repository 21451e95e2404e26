#include "server/service/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "common/temporary_folder.h"
#include "common/version.h"

namespace tandem::service {
namespace {

using ::testing::SizeIs;

// A disk with a switch.
class FaultyJournal : public store::Journal {
 public:
  bool full = false;
  bool vanished = false;
  // In the order of their commits.
  std::vector<v1::JobRecord> records;
  size_t samples = 0;
  std::vector<store::Batch::Drain> drains;
  int commits = 0;

  absl::StatusOr<std::vector<v1::JobRecord>> LoadJobs() override { return records; }
  absl::Status Commit(const store::Batch& batch) override {
    if (absl::Status status = Check(); !status.ok()) return status;
    if (full) return absl::ResourceExhaustedError("no space left");
    records.insert(records.end(), batch.jobs.begin(), batch.jobs.end());
    for (const auto& one : batch.progress) samples += one.progress.samples_size();
    drains.insert(drains.end(), batch.drains.begin(), batch.drains.end());
    ++commits;
    return absl::OkStatus();
  }
  absl::Status Check() const override {
    return vanished ? absl::FailedPreconditionError("vanished") : absl::OkStatus();
  }
  absl::StatusOr<std::vector<WorkerName>> LoadDraining() override {
    return std::vector<WorkerName>();
  }
  absl::StatusOr<v1::GetHistoryResponse> ReadHistory(const JobId&, uint64_t, uint32_t) override {
    return v1::GetHistoryResponse();
  }
};

class RecordedStream : public WorkerStream {
 public:
  std::vector<v1::CoordinatorToWorker> sent;
  std::vector<v1::CoordinatorToWorker> acknowledged;
  absl::Status closed;

  void Send(v1::CoordinatorToWorker message) override {
    (message.has_acknowledge() ? acknowledged : sent).push_back(std::move(message));
  }
  void Close(absl::Status status) override { closed = std::move(status); }
  void ReadNext() override {}
};

v1::JobSpec Spec() {
  v1::JobSpec spec;
  spec.set_name("digits");
  spec.set_workers(1);
  spec.set_logical_ranks(1);
  spec.set_global_batch_size(64);
  spec.set_steps(10);
  return spec;
}

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() { controller_.streams().Add(kConnection, &stream_); }

  void ConnectWorker() {
    core::WorkerConnected event;
    event.connection = kConnection;
    event.registration.set_name("w");
    event.registration.set_incarnation("1");
    event.registration.set_advertise_address("127.0.0.1");
    event.registration.set_protocol_version(kProtocolVersion);
    event.registration.add_slots("cpu:0");
    Deliver(std::move(event));
  }
  void Deliver(core::Event event) {
    controller_.Deliver(std::move(event), [this] { ++delivered_; });
  }
  core::WorkerMessage Progress(const JobId& job, uint64_t step) {
    core::WorkerMessage event{WorkerName("w"), kConnection, {}};
    event.message.set_sequence(++sequence_);
    v1::RankReport& report = *event.message.mutable_rank_report();
    report.set_job_id(job.value());
    report.set_attempt(1);
    v1::StepSample& sample = *report.mutable_progress()->add_samples();
    sample.set_step(step);
    sample.set_count(64);
    return event;
  }
  core::WorkerMessage Prepared(const JobId& job) {
    core::WorkerMessage event{WorkerName("w"), kConnection, {}};
    event.message.set_sequence(++sequence_);
    v1::RankPrepared& prepared = *event.message.mutable_rank_prepared();
    prepared.set_job_id(job.value());
    prepared.set_attempt(1);
    prepared.mutable_prepared()->set_master_port(12345);
    prepared.mutable_prepared()->set_total_steps(10);
    return event;
  }
  core::WorkerMessage Logged(const std::string& job, uint32_t attempt) {
    core::WorkerMessage event{WorkerName("w"), kConnection, {}};
    event.message.set_sequence(++sequence_);
    event.message.mutable_rank_log()->set_job_id(job);
    event.message.mutable_rank_log()->set_attempt(attempt);
    event.message.mutable_rank_log()->add_lines()->set_text("line");
    return event;
  }
  core::WorkerMessage Died(const JobId& job) {
    core::WorkerMessage event{WorkerName("w"), kConnection, {}};
    event.message.set_sequence(++sequence_);
    v1::RankExited& exit = *event.message.mutable_rank_exited();
    exit.set_job_id(job.value());
    exit.set_attempt(1);
    exit.set_exit_code(1);
    return event;
  }
  // Log files that this process holds open.
  int OpenLogs() const {
    int count = 0;
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(fd, gone).string();
      if (absl::StartsWith(target, root_.path())) ++count;
    }
    return count;
  }
  v1::JobState StateOf(const JobId& job) { return controller_.board().Find(job)->state(); }

  uint64_t sequence_ = 0;
  static constexpr uint64_t kConnectionNumber = 1;
  const core::ConnectionId kConnection{kConnectionNumber};
  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-test");
  FaultyJournal journal_;
  std::unique_ptr<store::LogStore> logs_ = *store::LogStore::Open(root_.path());
  prometheus::Registry registry_;
  metrics::Metrics metrics_{registry_};
  FakeClock clock_;
  std::vector<std::string> log_;
  Controller controller_{core::Options(),
                         {journal_, *logs_, metrics_, clock_,
                          [this](absl::LogSeverity severity, absl::string_view text) {
                            if (severity == absl::LogSeverity::kError) log_.emplace_back(text);
                          }}};
  RecordedStream stream_;
  int delivered_ = 0;
};

TEST_F(ControllerTest, Submit_Job_IsOnDiskBeforeItIsShown) {
  const auto job = controller_.Submit(Spec(), "");
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_THAT(journal_.records, SizeIs(1));
  EXPECT_EQ(journal_.records[0].job().id(), (*job)->id());
  EXPECT_EQ(controller_.board().Find(JobId((*job)->id())), *job);
}

TEST_F(ControllerTest, Submit_SameRequestId_ReturnsTheFirstJob) {
  const auto first = controller_.Submit(Spec(), "r");
  const auto again = controller_.Submit(Spec(), "r");
  const auto other = controller_.Submit(Spec(), "s");
  EXPECT_EQ((*first)->id(), (*again)->id());
  EXPECT_NE((*first)->id(), (*other)->id());
}

TEST_F(ControllerTest, Submit_JournalFull_QueuesNothingAndSaysSoOnce) {
  ConnectWorker();
  journal_.full = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(controller_.Submit(Spec(), "r").status().code(),
              absl::StatusCode::kResourceExhausted);
    controller_.Tick();
  }
  EXPECT_TRUE(controller_.board().NewestFirst().empty());
  EXPECT_FALSE(controller_.journal_status().ok());
  EXPECT_THAT(log_, SizeIs(1));
  EXPECT_THAT(stream_.sent, SizeIs(1));  // Registered; no rank of a job that is not on disk.
}

TEST_F(ControllerTest, Submit_JournalWritableAgain_Succeeds) {
  journal_.full = true;
  EXPECT_FALSE(controller_.Submit(Spec(), "r").ok());
  journal_.full = false;
  EXPECT_TRUE(controller_.Submit(Spec(), "r").ok());
  EXPECT_TRUE(controller_.journal_status().ok());
  EXPECT_THAT(journal_.records, SizeIs(1));
}

TEST_F(ControllerTest, Deliver_JournalFull_TellsNobodyUntilItIsWritten) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  ASSERT_EQ(StateOf(job), v1::JOB_STATE_PREPARING);
  journal_.full = true;
  Deliver(Prepared(job));
  Deliver(Progress(job, 1));
  controller_.Tick();
  EXPECT_EQ(StateOf(job), v1::JOB_STATE_PREPARING);
  EXPECT_THAT(stream_.sent, SizeIs(2));  // Registered, PrepareRanks.
  EXPECT_EQ(delivered_, 2);              // The worker is not asked for more.
  journal_.full = false;
  controller_.Tick();
  EXPECT_EQ(StateOf(job), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(stream_.sent.back().has_start_ranks());
  EXPECT_EQ(delivered_, 3);
  EXPECT_EQ(journal_.samples, 1u);
}

TEST_F(ControllerTest, Cancel_JournalFull_IsToBeRetried) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  journal_.full = true;
  EXPECT_EQ(controller_.Cancel(job).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(StateOf(job), v1::JOB_STATE_QUEUED);
  journal_.full = false;
  EXPECT_TRUE(controller_.Cancel(job).ok());
  EXPECT_EQ(StateOf(job), v1::JOB_STATE_CANCELLED);
}

TEST_F(ControllerTest, Tick_AfterProgress_CommitsTheHistory) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Prepared(job));
  Deliver(Progress(job, 1));
  controller_.Tick();
  EXPECT_EQ(journal_.samples, 1u);
}

TEST_F(ControllerTest, Deliver_Checkpoint_IsOnDiskBeforeItIsShown) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Prepared(job));
  core::WorkerMessage saved = Progress(job, 4);
  saved.message.mutable_rank_report()->mutable_progress()->mutable_checkpoint()->set_step(4);
  journal_.full = true;
  Deliver(saved);
  EXPECT_FALSE(controller_.board().Find(job)->has_checkpoint());
  journal_.full = false;
  controller_.Tick();
  EXPECT_EQ(controller_.board().Find(job)->checkpoint().step(), 4u);
  EXPECT_EQ(journal_.records.back().job().checkpoint().step(), 4u);
  EXPECT_EQ(journal_.samples, 1u);
}

TEST_F(ControllerTest, Restore_JobOfAnOlderVersion_GetsTheDefaultsOfKeysItLacks) {
  v1::JobRecord& record = journal_.records.emplace_back();
  record.set_sequence(1);
  record.mutable_job()->set_id("old");
  record.mutable_job()->set_state(v1::JOB_STATE_QUEUED);
  record.mutable_job()->set_world_size(1);
  record.mutable_job()->set_logical_ranks(1);
  *record.mutable_job()->mutable_spec() = Spec();
  ASSERT_TRUE(controller_.Restore().ok());
  ConnectWorker();
  ASSERT_TRUE(stream_.sent.back().has_prepare_ranks());
  const v1::JobSpec& spec = stream_.sent.back().prepare_ranks().spec();
  EXPECT_EQ(spec.reduction(), v1::REDUCTION_TREE);
  EXPECT_EQ(spec.steps(), 10u);
  EXPECT_EQ(controller_.board().Find(JobId("old"))->receipt().level(),
            v1::EQUIVALENCE_LEVEL_BITWISE);
}

TEST_F(ControllerTest, Shutdown_WorkersLeave_JobsStayAsTheyAre) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  const size_t on_disk = journal_.records.size();
  controller_.Shutdown();
  EXPECT_EQ(stream_.closed.code(), absl::StatusCode::kUnavailable);
  Deliver(core::WorkerDisconnected{WorkerName("w"), Incarnation("1"), kConnection, "stopping"});
  clock_.Advance(absl::Hours(1));
  controller_.Tick();
  EXPECT_THAT(journal_.records, SizeIs(on_disk));
  EXPECT_EQ(controller_.Submit(Spec(), "").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ControllerTest, Logs_OfAnUnknownAttempt_AreNotKept) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Logged(job.value(), 7));
  Deliver(Logged("../escape", 1));
  EXPECT_EQ(logs_->Read(job, 0)->next_offset, 0u);
}

TEST_F(ControllerTest, Logs_AfterTheEnd_AreKeptAndTheFileIsClosedAgain) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Logged(job.value(), 1));
  EXPECT_EQ(OpenLogs(), 1);
  Deliver(Died(job));
  ASSERT_EQ(StateOf(job), v1::JOB_STATE_FAILED);
  EXPECT_EQ(OpenLogs(), 0);
  Deliver(Logged(job.value(), 1));
  EXPECT_THAT(logs_->Read(job, 0)->lines, SizeIs(2));
  EXPECT_EQ(OpenLogs(), 0);
}

TEST_F(ControllerTest, Acknowledgement_OfHistory_IsSentOnceItIsOnDiskAndInOnePiece) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Prepared(job));
  stream_.acknowledged.clear();
  const int before = journal_.commits;
  for (uint64_t step = 1; step <= 1000; ++step) Deliver(Progress(job, step));
  EXPECT_THAT(stream_.acknowledged, SizeIs(0)) << "it is not on disk";
  EXPECT_EQ(journal_.commits, before);
  controller_.Tick();
  EXPECT_EQ(journal_.commits, before + 1);
  ASSERT_THAT(stream_.acknowledged, SizeIs(1));
  EXPECT_EQ(stream_.acknowledged[0].acknowledge().sequence(), sequence_);
}

TEST_F(ControllerTest, Acknowledgement_DiskIsFull_WaitsForIt) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  ConnectWorker();
  Deliver(Prepared(job));
  stream_.acknowledged.clear();
  journal_.full = true;
  Deliver(Progress(job, 1));
  controller_.Tick();
  EXPECT_THAT(stream_.acknowledged, SizeIs(0));
  journal_.full = false;
  controller_.Tick();
  ASSERT_THAT(stream_.acknowledged, SizeIs(1));
  EXPECT_EQ(stream_.acknowledged[0].acknowledge().sequence(), sequence_);
}

TEST_F(ControllerTest, Tick_JournalVanished_RefusesJobsUntilItIsBack) {
  controller_.Tick();
  EXPECT_TRUE(controller_.journal_status().ok());
  journal_.vanished = true;
  controller_.Tick();
  EXPECT_EQ(controller_.journal_status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(controller_.Submit(Spec(), "").ok());
  journal_.vanished = false;
  controller_.Tick();
  EXPECT_TRUE(controller_.journal_status().ok());
  EXPECT_TRUE(controller_.Submit(Spec(), "").ok());
}

TEST_F(ControllerTest, Drain_IsOnDiskAndShown) {
  EXPECT_EQ(controller_.Drain(WorkerName("w"), false).status().code(), absl::StatusCode::kNotFound);
  ConnectWorker();
  EXPECT_TRUE(controller_.Drain(WorkerName("w"), false)->draining());
  EXPECT_THAT(journal_.drains, SizeIs(1));
  EXPECT_FALSE(controller_.Drain(WorkerName("w"), true)->draining());
  journal_.full = true;
  EXPECT_EQ(controller_.Drain(WorkerName("w"), false).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(ControllerTest, Resize_OfAQueuedJob_IsOnDisk) {
  const JobId job((*controller_.Submit(Spec(), ""))->id());
  EXPECT_EQ((*controller_.Resize(job, 1, 1))->resized_max(), 1u);
  EXPECT_EQ(journal_.records.back().job().resized_max(), 1u);
  EXPECT_EQ(controller_.Resize(job, 1, 9).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem::service
