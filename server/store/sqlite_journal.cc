#include "server/store/sqlite_journal.h"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Transaction.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "server/store/journal_schema.h"

namespace tandem::store {
namespace {

constexpr int kBusyTimeoutMs = 1000;

absl::Status ToStatus(const SQLite::Exception& error) {
  const std::string message = absl::StrCat("journal: ", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    default:
      return absl::InternalError(message);
  }
}

// SQLite's integers have no room for the upper half, and no job ever gets there.
int64_t Signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}
uint64_t Unsigned(const SQLite::Column& column) { return static_cast<uint64_t>(column.getInt64()); }
// All 64 bits, of a number that is only ever compared for equality.
int64_t Bits(uint64_t value) { return static_cast<int64_t>(value); }
double Real(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

// Not reset(), which would throw the error of the last use once more.
SQLite::Statement& Fresh(SQLite::Statement& statement) {
  statement.tryReset();
  return statement;
}

absl::StatusOr<v1::JobRecord> ParseRecord(const SQLite::Column& id, const SQLite::Column& blob) {
  v1::JobRecord record;
  if (record.ParseFromArray(blob.getBlob(), blob.getBytes())) return record;
  return absl::DataLossError(
      absl::StrCat("journal: the record of job ", id.getString(), " cannot be read"));
}

// It has what ranks find each other by, and that lets anybody in. SQLite gives its other files the same mode.
absl::Status KeepToUs(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.valid() && fchmod(file.get(), S_IRUSR | S_IWUSR) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(const std::string& path) try {
  // SQLite takes a file that is shorter than its smallest page for a new one.
  constexpr uintmax_t kSmallestPage = 512;
  std::error_code missing;
  const uintmax_t size = std::filesystem::file_size(path, missing);
  if (!missing && size > 0 && size < kSmallestPage) {
    return Damaged(path, absl::StrCat("it is cut off after ", size, " bytes"));
  }
  if (absl::Status status = KeepToUs(path); !status.ok()) return status;
  SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
  if (absl::Status status = PrepareSchema(path, database); !status.ok()) return status;
  const std::optional<FileIdentity> identity = IdentityOf(path);
  if (!identity) return absl::InternalError(absl::StrCat("cannot open ", path, ": it is gone"));
  return absl::WrapUnique(new SqliteJournal(std::move(database), *identity));
} catch (const SQLite::Exception& error) {
  absl::Status status = ToStatus(error);
  if (absl::IsDataLoss(status)) return Damaged(path, error.what());
  return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
}

SqliteJournal::SqliteJournal(SQLite::Database database, FileIdentity identity)
    : database_(std::move(database)),
      identity_(identity),
      write_job_(database_, "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)"),
      forget_job_(database_, "DELETE FROM jobs WHERE id = ?"),
      drain_(database_, "INSERT OR REPLACE INTO draining_workers VALUES (?)"),
      undo_drain_(database_, "DELETE FROM draining_workers WHERE name = ?"),
      forget_samples_(database_, "DELETE FROM samples WHERE job_id = ? AND step >= ?"),
      forget_evaluations_(database_, "DELETE FROM evaluations WHERE job_id = ? AND step >= ?"),
      write_sample_(database_, "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      write_evaluation_(database_, "INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?, ?)"),
      read_samples_(database_,
                    "SELECT step, epoch, loss_sum, count, learning_rate, samples_digest, receipt,"
                    " parameter_digest FROM samples"
                    " WHERE job_id = ? AND step >= ? ORDER BY step LIMIT ?"),
      read_evaluations_(database_,
                        "SELECT step, epoch, loss, accuracy, samples FROM evaluations"
                        " WHERE job_id = ? AND step >= ? AND step < ? ORDER BY step") {}

absl::StatusOr<std::vector<v1::JobRecord>> SqliteJournal::LoadJobs() try {
  std::vector<v1::JobRecord> records;
  SQLite::Statement query(database_, "SELECT id, record FROM jobs ORDER BY sequence");
  while (query.executeStep()) {
    absl::StatusOr<v1::JobRecord> record = ParseRecord(query.getColumn(0), query.getColumn(1));
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
  }
  return records;
} catch (const SQLite::Exception& error) {
  return ToStatus(error);
}

absl::StatusOr<std::vector<WorkerName>> SqliteJournal::LoadDraining() try {
  std::vector<WorkerName> workers;
  SQLite::Statement query(database_, "SELECT name FROM draining_workers ORDER BY name");
  while (query.executeStep()) workers.emplace_back(query.getColumn(0).getString());
  return workers;
} catch (const SQLite::Exception& error) {
  return ToStatus(error);
}

std::optional<SqliteJournal::FileIdentity> SqliteJournal::IdentityOf(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  return FileIdentity(file.st_dev, file.st_ino);
}

// SQLite goes on to write a file that no path leads to any more, and says nothing.
absl::Status SqliteJournal::Check() const {
  const std::string& path = database_.getFilename();
  const std::optional<FileIdentity> now = IdentityOf(path);
  if (now == identity_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "journal: ", path, now ? " was replaced by another file" : " has vanished",
      " while tandemd ran; put back the state directory it was started on, or restart tandemd"));
}

absl::Status SqliteJournal::Commit(const Batch& batch) try {
  if (absl::Status status = Check(); !status.ok()) return status;
  SQLite::Transaction transaction(database_);
  if (batch.empty()) database_.exec(WriteVersion());  // Writes a page with what it holds already.
  for (const v1::JobRecord& record : batch.jobs) WriteJob(record);
  for (const Batch::Progress& progress : batch.progress) WriteProgress(progress);
  for (const JobId& job : batch.forgotten) Forget(job);
  for (const Batch::Drain& drain : batch.drains) WriteDrain(drain);
  transaction.commit();
  return absl::OkStatus();
} catch (const SQLite::Exception& error) {
  return ToStatus(error);
}

void SqliteJournal::WriteJob(const v1::JobRecord& record) {
  const std::string blob = record.SerializeAsString();
  SQLite::Statement& write = Fresh(write_job_);
  write.bind(1, record.job().id());
  write.bind(2, Signed(record.sequence()));
  write.bind(3, static_cast<int>(record.job().state()));
  write.bind(4, blob.data(), static_cast<int>(blob.size()));
  write.exec();
}

void SqliteJournal::WriteProgress(const Batch::Progress& batch) {
  const v1::RankProgress& progress = batch.progress;
  if (!progress.samples().empty()) ForgetFrom(batch.job, progress.samples(0).step());
  for (const v1::StepSample& sample : progress.samples()) {
    SQLite::Statement& write = Fresh(write_sample_);
    write.bind(1, batch.job.value());
    write.bind(2, Signed(sample.step()));
    write.bind(3, Signed(sample.epoch()));
    write.bind(4, sample.loss_sum());
    write.bind(5, Signed(sample.count()));
    write.bind(6, sample.learning_rate());
    write.bind(7, Bits(sample.samples_digest()));
    write.bind(8, Bits(sample.receipt()));
    write.bind(9, sample.parameter_digest());
    write.exec();
  }
  for (const v1::Evaluation& evaluation : progress.evaluations()) {
    SQLite::Statement& write = Fresh(write_evaluation_);
    write.bind(1, batch.job.value());
    write.bind(2, Signed(evaluation.step()));
    write.bind(3, Signed(evaluation.epoch()));
    write.bind(4, evaluation.loss());
    if (evaluation.has_accuracy()) {
      write.bind(5, evaluation.accuracy());
    } else {
      write.bind(5);
    }
    write.bind(6, Signed(evaluation.samples()));
    write.exec();
  }
}

void SqliteJournal::WriteDrain(const Batch::Drain& drain) {
  SQLite::Statement& write = Fresh(drain.draining ? drain_ : undo_drain_);
  write.bind(1, drain.worker.value());
  write.exec();
}

void SqliteJournal::Forget(const JobId& job) {
  Fresh(forget_job_).bind(1, job.value());
  forget_job_.exec();
  ForgetFrom(job, 0);
}

void SqliteJournal::ForgetFrom(const JobId& job, uint64_t step) {
  for (SQLite::Statement* forget : {&forget_samples_, &forget_evaluations_}) {
    Fresh(*forget).bind(1, job.value());
    forget->bind(2, Signed(step));
    forget->exec();
  }
}

absl::StatusOr<v1::GetHistoryResponse> SqliteJournal::ReadHistory(const JobId& job,
                                                                  uint64_t from_step,
                                                                  uint32_t limit) try {
  v1::GetHistoryResponse page;
  ReadSamples(job, from_step, std::max(limit, 1u), &page);
  ReadEvaluations(job, from_step, &page);
  return page;
} catch (const SQLite::Exception& error) {
  return ToStatus(error);
}

// Asks for one row more than the page holds: where it exists, the next page starts there.
void SqliteJournal::ReadSamples(const JobId& job, uint64_t from_step, uint32_t limit,
                                v1::GetHistoryResponse* page) {
  SQLite::Statement& read = Fresh(read_samples_);
  read.bind(1, job.value());
  read.bind(2, Signed(from_step));
  read.bind(3, Signed(uint64_t{limit} + 1));
  while (read.executeStep()) {
    if (static_cast<uint32_t>(page->samples_size()) == limit) {
      page->set_next_step(Unsigned(read.getColumn(0)));
      continue;
    }
    v1::StepSample* sample = page->add_samples();
    sample->set_step(Unsigned(read.getColumn(0)));
    sample->set_epoch(Unsigned(read.getColumn(1)));
    sample->set_loss_sum(Real(read.getColumn(2)));
    sample->set_count(Unsigned(read.getColumn(3)));
    sample->set_learning_rate(Real(read.getColumn(4)));
    sample->set_samples_digest(Unsigned(read.getColumn(5)));
    sample->set_receipt(Unsigned(read.getColumn(6)));
    sample->set_parameter_digest(read.getColumn(7).getString());
  }
}

void SqliteJournal::ReadEvaluations(const JobId& job, uint64_t from_step,
                                    v1::GetHistoryResponse* page) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  SQLite::Statement& read = Fresh(read_evaluations_);
  read.bind(1, job.value());
  read.bind(2, Signed(from_step));
  read.bind(3, page->next_step() == 0 ? kEnd : Signed(page->next_step()));
  while (read.executeStep()) {
    v1::Evaluation* evaluation = page->add_evaluations();
    evaluation->set_step(Unsigned(read.getColumn(0)));
    evaluation->set_epoch(Unsigned(read.getColumn(1)));
    evaluation->set_loss(Real(read.getColumn(2)));
    if (!read.getColumn(3).isNull()) evaluation->set_accuracy(read.getColumn(3).getDouble());
    evaluation->set_samples(Unsigned(read.getColumn(4)));
  }
}

}  // namespace tandem::store
