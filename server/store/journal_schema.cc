#include "server/store/journal_schema.h"

#include <SQLiteCpp/Transaction.h>

#include <iterator>

#include "absl/strings/str_cat.h"

namespace tandem::store {
namespace {

// Each makes one version of the file out of the one before; the first, out of nothing. A new file
// goes through all of them. What has been released is never changed again.
//
// A loss that is not a number is stored as NULL, which is what SQLite makes of it.
constexpr const char* kUpgrades[] = {
    R"sql(
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL,
  record BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE samples (
  job_id TEXT NOT NULL,
  step INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  loss_sum REAL,
  count INTEGER NOT NULL,
  learning_rate REAL,
  PRIMARY KEY (job_id, step)
) WITHOUT ROWID;
CREATE TABLE evaluations (
  job_id TEXT NOT NULL,
  step INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  loss REAL,
  accuracy REAL,
  samples INTEGER NOT NULL,
  PRIMARY KEY (job_id, step)
) WITHOUT ROWID;
)sql",
    // The two numbers have 64 bits without a sign: SQLite keeps the same bits with one.
    R"sql(
ALTER TABLE samples ADD COLUMN samples_digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE samples ADD COLUMN receipt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE samples ADD COLUMN parameter_digest TEXT NOT NULL DEFAULT '';
)sql",
    R"sql(
CREATE TABLE draining_workers (
  name TEXT PRIMARY KEY
) WITHOUT ROWID;
)sql"};
constexpr int kVersion = std::size(kUpgrades);

absl::Status CheckUndamaged(const std::string& path, SQLite::Database& database) {
  const std::string verdict = database.execAndGet("PRAGMA integrity_check(1)").getString();
  return verdict == "ok" ? absl::OkStatus() : Damaged(path, verdict);
}

absl::Status CheckVersion(const std::string& path, int version, int tables) {
  if (version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the journal ", path, " has version ", version, ", this tandemd knows versions up to ",
        kVersion, "; start the newer tandemd, or choose another --state-dir"));
  }
  if (version < 0 || (version == 0 && tables > 0)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " belongs to another program; move it away, or choose another --state-dir"));
  }
  return absl::OkStatus();
}

// In one transaction, so that a crash leaves the file as it was.
void Upgrade(SQLite::Database& database, int version) {
  SQLite::Transaction transaction(database);
  for (; version < kVersion; ++version) database.exec(kUpgrades[version]);
  database.exec(WriteVersion());
  transaction.commit();
}

}  // namespace

absl::Status PrepareSchema(const std::string& path, SQLite::Database& database) {
  if (absl::Status status = CheckUndamaged(path, database); !status.ok()) return status;
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  const int tables = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt();
  if (absl::Status status = CheckVersion(path, version, tables); !status.ok()) return status;
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  if (version < kVersion) Upgrade(database, version);
  return absl::OkStatus();
}

std::string WriteVersion() { return absl::StrCat("PRAGMA user_version = ", kVersion); }

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the journal ", path, " is damaged (", what,
                   "); restore it from a backup, or move it away to start without its jobs"));
}

}  // namespace tandem::store
