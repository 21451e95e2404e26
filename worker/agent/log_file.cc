#include "worker/agent/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace tandem::agent {
namespace {

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status CreateParents(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder of ", path));
}

}  // namespace

absl::StatusOr<LogFile> LogFile::Create(std::string path, uint64_t cap_bytes) {
  if (absl::Status made = CreateParents(path); !made.ok()) return made;
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return LogFile(std::move(path), std::move(file), cap_bytes);
}

absl::Status LogFile::Append(const std::vector<std::string>& lines) {
  std::string bytes;
  for (const std::string& line : lines) {
    const size_t size = line.size() + 1;
    if (!full_ && bytes_ + size > cap_bytes_) {
      full_ = true;
      absl::StrAppend(&bytes, "[tandem-worker: this file has reached its limit of ", cap_bytes_,
                      " bytes; of the rest only the end is kept]\n");
    }
    if (full_) {
      tail_.Add(line, size);
    } else {
      absl::StrAppend(&bytes, line, "\n");
      bytes_ += size;
    }
  }
  return Write(bytes);
}

absl::Status LogFile::Finish() {
  if (tail_.empty()) return absl::OkStatus();
  const auto end = tail_.Take();
  std::string bytes;
  if (end.given_up > 0) {
    absl::StrAppend(&bytes, "[tandem-worker: ", end.given_up, " lines are left out here]\n");
  }
  for (const std::string& line : end.lines) absl::StrAppend(&bytes, line, "\n");
  return Write(bytes);
}

absl::Status LogFile::Write(const std::string& bytes) {
  const absl::Status written = WriteAll(file_.get(), bytes);
  if (written.ok()) return written;
  return absl::Status(written.code(),
                      absl::StrCat("cannot write ", path_, ": ", written.message()));
}

}  // namespace tandem::agent
