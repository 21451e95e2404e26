#pragma once

#include <SQLiteCpp/Database.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tandem::store {

// Makes the tables of a new journal, or brings those of an older version up to date: all of it or
// nothing. May throw SQLite::Exception.
//   FailedPrecondition  written by a newer tandemd, or by another program.
//   DataLoss            damaged; the message says what to do.
absl::Status PrepareSchema(const std::string& path, SQLite::Database& database);

// The statement that writes the version into the file once more.
std::string WriteVersion();

absl::Status Damaged(const std::string& path, absl::string_view what);

}  // namespace tandem::store
