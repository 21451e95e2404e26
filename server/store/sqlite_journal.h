#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/store/journal.h"

namespace tandem::store {

// A journal in one SQLite file. Write-ahead log, synced at every commit.
class SqliteJournal : public Journal {
 public:
  // Opens the journal, or makes a new one where no file is. Never replaces or repairs a file.
  //   FailedPrecondition  written by a newer tandemd, or by another program.
  //   DataLoss            damaged; the message says what to do.
  //   Internal            the file cannot be opened or made.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& path);

  absl::StatusOr<std::vector<v1::JobRecord>> LoadJobs() override;
  absl::StatusOr<std::vector<WorkerName>> LoadDraining() override;
  absl::Status Commit(const Batch& batch) override;
  absl::Status Check() const override;
  absl::StatusOr<v1::GetHistoryResponse> ReadHistory(const JobId& job, uint64_t from_step,
                                                     uint32_t limit) override;

 private:
  // What a path cannot say: which file it is.
  using FileIdentity = std::pair<dev_t, ino_t>;

  static std::optional<FileIdentity> IdentityOf(const std::string& path);
  // The schema exists. Throws SQLite::Exception.
  SqliteJournal(SQLite::Database database, FileIdentity identity);

  void WriteJob(const v1::JobRecord& record);
  void WriteProgress(const Batch::Progress& progress);
  void WriteDrain(const Batch::Drain& drain);
  void Forget(const JobId& job);
  void ForgetFrom(const JobId& job, uint64_t step);
  void ReadSamples(const JobId& job, uint64_t from_step, uint32_t limit,
                   v1::GetHistoryResponse* page);
  void ReadEvaluations(const JobId& job, uint64_t from_step, v1::GetHistoryResponse* page);

  SQLite::Database database_;
  const FileIdentity identity_;
  SQLite::Statement write_job_;
  SQLite::Statement forget_job_;
  SQLite::Statement drain_;
  SQLite::Statement undo_drain_;
  SQLite::Statement forget_samples_;
  SQLite::Statement forget_evaluations_;
  SQLite::Statement write_sample_;
  SQLite::Statement write_evaluation_;
  SQLite::Statement read_samples_;
  SQLite::Statement read_evaluations_;
};

}  // namespace tandem::store
