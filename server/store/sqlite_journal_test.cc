#include "server/store/sqlite_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/temporary_folder.h"

namespace tandem::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const JobId kJob("digits-abc234");

v1::JobRecord MakeRecord(const std::string& id, uint64_t sequence, v1::JobState state) {
  v1::JobRecord record;
  record.mutable_job()->set_id(id);
  record.mutable_job()->set_state(state);
  record.mutable_job()->mutable_spec()->set_name("digits");
  record.set_sequence(sequence);
  record.set_request_id("request of " + id);
  return record;
}

Batch Steps(uint64_t first, uint64_t last, double loss_sum) {
  Batch batch;
  Batch::Progress& progress = batch.progress.emplace_back();
  progress.job = kJob;
  for (uint64_t step = first; step <= last; ++step) {
    v1::StepSample* sample = progress.progress.add_samples();
    sample->set_step(step);
    sample->set_epoch(step / 10);
    sample->set_loss_sum(loss_sum);
    sample->set_count(64);
    sample->set_learning_rate(0.125);
    sample->set_samples_digest(~step);  // Uses the highest bit.
    sample->set_receipt(~(step << 1));
    if (step % 2 == 0) sample->set_parameter_digest("digest");
  }
  return batch;
}

Batch JobsOnly(std::vector<v1::JobRecord> jobs) {
  Batch batch;
  batch.jobs = std::move(jobs);
  return batch;
}

Batch EvaluationAt(uint64_t step) {
  Batch batch;
  Batch::Progress& progress = batch.progress.emplace_back();
  progress.job = kJob;
  v1::Evaluation* evaluation = progress.progress.add_evaluations();
  evaluation->set_step(step);
  evaluation->set_loss(0.5);
  evaluation->set_accuracy(0.75);
  evaluation->set_samples(100);
  return batch;
}

std::vector<uint64_t> StepsOf(const v1::GetHistoryResponse& page) {
  std::vector<uint64_t> steps;
  for (const v1::StepSample& sample : page.samples()) steps.push_back(sample.step());
  return steps;
}

// What tandemd 0.1.0 wrote: one job of two steps and an evaluation.
constexpr char kVersionOne[] = R"sql(
CREATE TABLE jobs (id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, state INTEGER NOT NULL,
  record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE samples (job_id TEXT NOT NULL, step INTEGER NOT NULL, epoch INTEGER NOT NULL,
  loss_sum REAL, count INTEGER NOT NULL, learning_rate REAL,
  PRIMARY KEY (job_id, step)) WITHOUT ROWID;
CREATE TABLE evaluations (job_id TEXT NOT NULL, step INTEGER NOT NULL, epoch INTEGER NOT NULL,
  loss REAL, accuracy REAL, samples INTEGER NOT NULL, PRIMARY KEY (job_id, step)) WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO samples VALUES ('digits-abc234', 1, 0, 96.5, 64, 0.125),
  ('digits-abc234', 2, 0, NULL, 64, 0.125);
INSERT INTO evaluations VALUES ('digits-abc234', 2, 0, 0.5, 0.75, 100);
)sql";

// A disk on which no file of this process can grow beyond a size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

class SqliteJournalTest : public ::testing::Test {
 protected:
  SqliteJournalTest() { Reopen(); }

  void Reopen() {
    journal_.reset();
    auto journal = SqliteJournal::Open(path_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
  }
  absl::Status OpenAgain() {
    journal_.reset();
    return SqliteJournal::Open(path_).status();
  }
  void Execute(const std::string& sql) {
    journal_.reset();
    SQLite::Database(path_, SQLite::OPEN_READWRITE).exec(sql);
  }
  void BecomeVersionOne() {
    journal_.reset();
    std::filesystem::remove(path_);
    SQLite::Database old(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(kVersionOne);
    const v1::JobRecord record = MakeRecord(kJob.value(), 7, v1::JOB_STATE_SUCCEEDED);
    const std::string blob = record.SerializeAsString();
    SQLite::Statement insert(old, "INSERT INTO jobs VALUES (?, 7, 5, ?)");
    insert.bind(1, kJob.value());
    insert.bind(2, blob.data(), static_cast<int>(blob.size()));
    insert.exec();
  }

  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-test");
  const std::string path_ = root_.path() + "/tandem.db";
  std::unique_ptr<SqliteJournal> journal_;
};

TEST_F(SqliteJournalTest, LoadJobs_AfterReopen_GivesTheLatestRecordsBySequence) {
  ASSERT_TRUE(journal_->Commit(JobsOnly({MakeRecord("b", 1, v1::JOB_STATE_QUEUED)})).ok());
  ASSERT_TRUE(journal_
                  ->Commit(JobsOnly({MakeRecord("a", 2, v1::JOB_STATE_QUEUED),
                                     MakeRecord("b", 1, v1::JOB_STATE_SUCCEEDED)}))
                  .ok());
  Reopen();
  const auto jobs = journal_->LoadJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at(0).job().id(), "b");
  EXPECT_EQ(jobs->at(0).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(jobs->at(0).job().spec().name(), "digits");
  EXPECT_EQ(jobs->at(1).request_id(), "request of a");
}

TEST_F(SqliteJournalTest, ReadHistory_AfterReopen_GivesEveryField) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 3, 32)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(2)).ok());
  Reopen();
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(StepsOf(*page), ElementsAre(1, 2, 3));
  EXPECT_EQ(page->samples(2).loss_sum(), 32);
  EXPECT_EQ(page->samples(2).count(), 64u);
  EXPECT_EQ(page->samples(2).learning_rate(), 0.125);
  EXPECT_EQ(page->samples(2).samples_digest(), ~uint64_t{3});
  EXPECT_EQ(page->samples(2).receipt(), ~uint64_t{6});
  EXPECT_EQ(page->samples(2).parameter_digest(), "");
  EXPECT_EQ(page->samples(1).parameter_digest(), "digest");
  EXPECT_EQ(page->next_step(), 0u);
  ASSERT_EQ(page->evaluations_size(), 1);
  EXPECT_EQ(page->evaluations(0).step(), 2u);
  EXPECT_EQ(page->evaluations(0).accuracy(), 0.75);
}

TEST_F(SqliteJournalTest, ReadHistory_EvaluationOfNumbers_HasNoAccuracy) {
  Batch batch = EvaluationAt(2);
  batch.progress[0].progress.mutable_evaluations(0)->clear_accuracy();
  ASSERT_TRUE(journal_->Commit(batch).ok());
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->evaluations_size(), 1);
  EXPECT_FALSE(page->evaluations(0).has_accuracy());
}

TEST_F(SqliteJournalTest, ReadHistory_InPages_GivesEachStepOnce) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 5, 1)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(3)).ok());
  const auto first = journal_->ReadHistory(kJob, 0, 2);
  EXPECT_THAT(StepsOf(*first), ElementsAre(1, 2));
  EXPECT_EQ(first->evaluations_size(), 0);
  ASSERT_EQ(first->next_step(), 3u);
  const auto second = journal_->ReadHistory(kJob, 3, 2);
  EXPECT_THAT(StepsOf(*second), ElementsAre(3, 4));
  EXPECT_EQ(second->evaluations_size(), 1);
  const auto last = journal_->ReadHistory(kJob, second->next_step(), 2);
  EXPECT_THAT(StepsOf(*last), ElementsAre(5));
  EXPECT_EQ(last->next_step(), 0u);
}

TEST_F(SqliteJournalTest, ReadHistory_StepsBeyondAllIntegers_IsEmpty) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 3, 1)).ok());
  EXPECT_TRUE(journal_->ReadHistory(kJob, ~uint64_t{0}, 10)->samples().empty());
}

TEST_F(SqliteJournalTest, Commit_NewAttemptWithFewerSteps_LeavesNothingOfTheOldOne) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 10, 1)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(9)).ok());
  ASSERT_TRUE(journal_->Commit(Steps(1, 2, 7)).ok());
  ASSERT_TRUE(journal_->Commit(Steps(3, 4, 7)).ok());
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  EXPECT_THAT(StepsOf(*page), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(page->samples(0).loss_sum(), 7);
  EXPECT_EQ(page->evaluations_size(), 0);
}

TEST_F(SqliteJournalTest, ReadHistory_LossIsNotANumber_StaysNotANumber) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 1, std::nan(""))).ok());
  EXPECT_TRUE(std::isnan(journal_->ReadHistory(kJob, 0, 1)->samples(0).loss_sum()));
}

TEST_F(SqliteJournalTest, ReadHistory_OfAnotherJob_IsEmpty) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 3, 1)).ok());
  EXPECT_TRUE(journal_->ReadHistory(JobId("other"), 0, 10)->samples().empty());
}

TEST_F(SqliteJournalTest, Commit_DiskRefusesToGrow_ChangesNothingAndRecovers) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 1, 1)).ok());
  {
    const FileSizeLimit limit(256 << 10);
    EXPECT_FALSE(journal_->Commit(Steps(2, 20000, 1)).ok());
    EXPECT_THAT(StepsOf(*journal_->ReadHistory(kJob, 0, 10)), ElementsAre(1));
  }
  EXPECT_TRUE(journal_->Commit(Steps(2, 2, 1)).ok());
  Reopen();
  EXPECT_THAT(StepsOf(*journal_->ReadHistory(kJob, 0, 10)), ElementsAre(1, 2));
}

TEST_F(SqliteJournalTest, Commit_EmptyBatch_TellsWhetherTheJournalCanBeWritten) {
  ASSERT_TRUE(journal_->Commit(Batch()).ok());
  const FileSizeLimit limit(0);
  EXPECT_FALSE(journal_->Commit(Batch()).ok());
}

TEST_F(SqliteJournalTest, Open_VersionOne_KeepsJobsSamplesAndEvaluations) {
  BecomeVersionOne();
  Reopen();
  const auto jobs = journal_->LoadJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->at(0).job().id(), kJob.value());
  EXPECT_EQ(jobs->at(0).sequence(), 7u);
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(StepsOf(*page), ElementsAre(1, 2));
  EXPECT_EQ(page->samples(0).loss_sum(), 96.5);
  EXPECT_EQ(page->samples(0).receipt(), 0u);
  EXPECT_EQ(page->samples(0).parameter_digest(), "");
  EXPECT_TRUE(std::isnan(page->samples(1).loss_sum()));
  ASSERT_EQ(page->evaluations_size(), 1);
  EXPECT_EQ(page->evaluations(0).accuracy(), 0.75);
}

TEST_F(SqliteJournalTest, Open_VersionOne_IsBroughtUpToDateOnce) {
  BecomeVersionOne();
  Reopen();
  ASSERT_TRUE(journal_->Commit(Steps(2, 4, 1)).ok());
  Reopen();
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  EXPECT_THAT(StepsOf(*page), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(page->samples(3).receipt(), ~uint64_t{8});
}

TEST_F(SqliteJournalTest, Open_VersionOneOnADiskThatRefusesToGrow_LeavesItAsItWas) {
  BecomeVersionOne();
  {
    const FileSizeLimit limit(0);
    EXPECT_FALSE(SqliteJournal::Open(path_).ok());
  }
  Reopen();
  EXPECT_THAT(StepsOf(*journal_->ReadHistory(kJob, 0, 10)), ElementsAre(1, 2));
}

TEST_F(SqliteJournalTest, Commit_AttemptThatGoesOnFromACheckpoint_KeepsWhatIsBefore) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 10, 1)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(5)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(9)).ok());
  ASSERT_TRUE(journal_->Commit(Steps(6, 7, 7)).ok());
  const auto page = journal_->ReadHistory(kJob, 0, 100);
  EXPECT_THAT(StepsOf(*page), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(page->samples(4).loss_sum(), 1);
  EXPECT_EQ(page->samples(5).loss_sum(), 7);
  ASSERT_EQ(page->evaluations_size(), 1);
  EXPECT_EQ(page->evaluations(0).step(), 5u);
}

TEST_F(SqliteJournalTest, Open_NewerVersion_IsRefused) {
  Execute("PRAGMA user_version = 999");
  const absl::Status status = OpenAgain();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("999"));
}

TEST_F(SqliteJournalTest, Open_FileOfAnotherProgram_IsRefused) {
  Execute("PRAGMA user_version = 0");
  EXPECT_EQ(OpenAgain().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteJournalTest, Open_NotADatabase_IsRefusedAndLeftAlone) {
  journal_.reset();
  const std::string text(4096, 'x');
  std::ofstream(path_) << text;
  const absl::Status status = OpenAgain();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("backup"));
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST_F(SqliteJournalTest, Open_DamagedPages_IsRefused) {
  ASSERT_TRUE(journal_->Commit(Steps(1, 5000, 1)).ok());
  journal_.reset();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(3 * 4096);
  file << std::string(4 * 4096, '\x5a');
  file.close();
  EXPECT_EQ(OpenAgain().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteJournalTest, LoadJobs_UnreadableRecord_NamesTheJob) {
  Execute("INSERT INTO jobs VALUES ('broken-job', 1, 1, x'ff')");
  Reopen();
  const auto jobs = journal_->LoadJobs();
  EXPECT_EQ(jobs.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(jobs.status().message()), HasSubstr("broken-job"));
}

TEST_F(SqliteJournalTest, Forgotten_JobAndItsHistoryAreGone_OthersStay) {
  ASSERT_TRUE(journal_
                  ->Commit(JobsOnly({MakeRecord(kJob.value(), 1, v1::JOB_STATE_SUCCEEDED),
                                     MakeRecord("other", 2, v1::JOB_STATE_QUEUED)}))
                  .ok());
  ASSERT_TRUE(journal_->Commit(Steps(1, 5, 1)).ok());
  ASSERT_TRUE(journal_->Commit(EvaluationAt(5)).ok());
  Batch batch;
  batch.forgotten = {kJob};
  ASSERT_TRUE(journal_->Commit(batch).ok());
  Reopen();
  ASSERT_EQ(journal_->LoadJobs()->size(), 1u);
  EXPECT_EQ(journal_->LoadJobs()->at(0).job().id(), "other");
  EXPECT_EQ(journal_->ReadHistory(kJob, 0, 100)->samples_size(), 0);
  EXPECT_EQ(journal_->ReadHistory(kJob, 0, 100)->evaluations_size(), 0);
}

TEST_F(SqliteJournalTest, Draining_IsRememberedUntilItIsUndone) {
  const auto drain = [this](const char* worker, bool draining) {
    Batch batch;
    batch.drains = {{WorkerName(worker), draining}};
    ASSERT_TRUE(journal_->Commit(batch).ok());
  };
  drain("b", true);
  drain("a", true);
  drain("b", true);
  Reopen();
  EXPECT_THAT(*journal_->LoadDraining(), ElementsAre(WorkerName("a"), WorkerName("b")));
  drain("b", false);
  Reopen();
  EXPECT_THAT(*journal_->LoadDraining(), ElementsAre(WorkerName("a")));
}

// A file that is cut off or overwritten anywhere is read as it was, or refused with what to do; it is never
// replaced, and no record comes out of it that was not put in.
TEST_F(SqliteJournalTest, Damage_Anywhere_IsRefusedOrHarmlessAndTheFileStaysAsItIs) {
  for (uint64_t sequence = 1; sequence <= 40; ++sequence) {
    ASSERT_TRUE(journal_
                    ->Commit(JobsOnly({MakeRecord("job-" + std::to_string(sequence), sequence,
                                                  v1::JOB_STATE_SUCCEEDED)}))
                    .ok());
    ASSERT_TRUE(journal_->Commit(Steps(sequence * 10, sequence * 10 + 9, 1)).ok());
  }
  journal_.reset();  // Everything is in the one file now.
  std::ifstream in(path_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  int refused = 0;
  const auto check = [&](const std::string& bytes, const std::string& what) {
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::remove(path_ + "-shm");
    std::ofstream(path_, std::ios::binary) << bytes;
    const auto journal = SqliteJournal::Open(path_);
    if (journal.ok()) {
      const auto jobs = (*journal)->LoadJobs();
      if (jobs.ok()) {
        EXPECT_EQ(jobs->size(), 40u) << what;
        return;
      }
    } else {
      EXPECT_THAT(std::string(journal.status().message()), HasSubstr(path_)) << what;
    }
    ++refused;
    EXPECT_EQ(std::filesystem::file_size(path_), bytes.size()) << what;
  };
  for (size_t size = 1; size < whole.size(); size += 997) {
    check(whole.substr(0, size), "cut off at " + std::to_string(size));
  }
  const int cut_refused = refused;
  EXPECT_GT(cut_refused, static_cast<int>(whole.size() / 997) - 2) << "control: no cut is harmless";
  for (size_t at = 0; at + 64 < whole.size(); at += 1499) {
    std::string bytes = whole;
    for (size_t i = 0; i < 64; ++i) bytes[at + i] = static_cast<char>(~bytes[at + i]);
    check(bytes, "garbage at " + std::to_string(at));
  }
  EXPECT_GT(refused, cut_refused + 5);
}

TEST(SqliteJournalIdentityTest, Check_FileVanishedOrReplaced_RefusesCommitsUntilItIsBack) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  const std::string path = root.path() + "/state/tandem.db", aside = root.path() + "/aside";
  std::filesystem::create_directory(root.path() + "/state");
  const auto journal = *SqliteJournal::Open(path);
  EXPECT_TRUE(journal->Check().ok());
  std::filesystem::rename(root.path() + "/state", aside);
  EXPECT_EQ(journal->Check().code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::create_directory(root.path() + "/state");
  ASSERT_TRUE(SqliteJournal::Open(path).ok());
  EXPECT_EQ(journal->Commit(Steps(1, 2, 1)).code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove_all(root.path() + "/state");
  std::filesystem::rename(aside, root.path() + "/state");
  EXPECT_TRUE(journal->Commit(Steps(1, 2, 1)).ok());
}

}  // namespace
}  // namespace tandem::store
