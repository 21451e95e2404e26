#include "client/rank_log_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

std::string FolderOf(const std::string& folder, const v1::LogLine& line) {
  return absl::StrCat(folder, "/attempt_", line.attempt(), "/", line.rank());
}

const char* NameOf(v1::LogStream stream) {
  return stream == v1::LOG_STREAM_STDERR ? "stderr.log" : "stdout.log";
}

}  // namespace

absl::StatusOr<RankLogFiles> RankLogFiles::In(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("--log-dir ", folder, ": ", error.message()));
  }
  return RankLogFiles(folder);
}

std::ofstream& RankLogFiles::FileOf(const v1::LogLine& line) {
  const auto [entry, is_new] =
      files_.try_emplace(std::make_tuple(line.attempt(), line.rank(), line.stream()));
  if (is_new) {
    const std::string folder = FolderOf(job_folder_, line);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    entry->second.open(absl::StrCat(folder, "/", NameOf(line.stream())), std::ios::binary);
  }
  return entry->second;
}

void RankLogFiles::Write(const v1::LogLine& line) {
  std::ofstream& file = FileOf(line);
  file << line.text() << '\n';
  if (file || !status_.ok()) return;
  status_ = absl::DataLossError(absl::StrCat("--log-dir: ", FolderOf(job_folder_, line), "/",
                                             NameOf(line.stream()), " cannot be written"));
}

void RankLogFiles::Flush() {
  for (auto& [key, file] : files_) file.flush();
}

}  // namespace tandem::client
