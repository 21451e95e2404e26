#include "server/store/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tandem::store {
namespace {

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make the state directory ", path, ": ", error.message()));
  }
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  return absl::OkStatus();
}

// Who wrote the lock file last. It may still be empty: the holder locks first and writes then.
std::string HolderOf(int fd) {
  char text[32] = {};
  const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
  if (size <= 0) return "another process";
  return absl::StrCat("process ", absl::StripAsciiWhitespace(text));
}

// A fixed width, so that a full disk cannot refuse what an earlier holder could write. The pid is
// only a help for people: the lock holds without it.
void WritePid(int fd) {
  const std::string text = absl::StrFormat("%-20d\n", getpid());
  if (pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Acquire(const std::string& state_dir) {
  if (absl::Status status = MakeDirectory(state_dir); !status.ok()) return status;
  const std::string path = state_dir + "/lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
    WritePid(file.get());
    return StateLock(std::move(file));
  }
  if (errno != EWOULDBLOCK) {
    return absl::InternalError(absl::StrCat("cannot lock ", path, ": ", std::strerror(errno)));
  }
  return absl::FailedPreconditionError(absl::StrCat("the state directory ", state_dir,
                                                    " is in use by ", HolderOf(file.get()),
                                                    "; stop it or choose another --state-dir"));
}

}  // namespace tandem::store
