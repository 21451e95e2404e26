#include "common/checkpoint/attempt_fence.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"

namespace tandem::checkpoint {
namespace {

// A change of names takes moments.
constexpr absl::Duration kLockPatience = absl::Seconds(10);
constexpr absl::Duration kLockPoll = absl::Milliseconds(2);

absl::Status ErrorAt(const std::string& path, absl::string_view action) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", action));
}

// The file, locked. The lock goes with it, or with its process. A file system that knows no locks is used
// without: the number alone still stops a writer that comes late.
absl::StatusOr<FileDescriptor> Lock(const std::string& path) {
  constexpr mode_t kReadAndWrite = 0666;  // less what the user's umask says
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadAndWrite));
  if (!file.valid()) return ErrorAt(path, "open it");
  const absl::Time deadline = absl::Now() + kLockPatience;
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOLCK || errno == ENOSYS) break;
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrorAt(path, "lock it");
    if (absl::Now() > deadline) {
      return absl::InternalError(absl::StrCat(path, ": another rank has held its lock for ",
                                              absl::FormatDuration(kLockPatience),
                                              ", a stopped one perhaps"));
    }
    absl::SleepFor(kLockPoll);
  }
  return file;
}

struct LockedFence {
  FileDescriptor file;
  uint64_t newest = 0;
};

absl::StatusOr<LockedFence> LockAndRead(const std::string& path) {
  absl::StatusOr<FileDescriptor> file = Lock(path);
  if (!file.ok()) return file.status();
  struct stat info;
  if (fstat(file->get(), &info) != 0) return ErrorAt(path, "read its length");
  return LockedFence{*std::move(file), static_cast<uint64_t>(info.st_size)};
}

absl::Status CheckNotNewer(uint64_t newest, uint32_t attempt) {
  if (newest <= attempt) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("attempt ", newest,
                                               " of this job has begun; this is "
                                               "attempt ",
                                               attempt, ", and may not save any more"));
}

// Runs `change` under the lock, if this attempt may still change something.
template <typename Change>
int Guarded(const std::string& path, uint32_t attempt, const Change& change) {
  const absl::StatusOr<LockedFence> fence = LockAndRead(path);
  if (!fence.ok()) {
    errno = EBUSY;  // AttemptFence::Check says what it is.
    return -1;
  }
  if (fence->newest <= attempt) return change();
  errno = EPERM;
  return -1;
}

}  // namespace

AttemptFence::AttemptFence(const std::string& folder, uint32_t attempt, FileCalls& calls)
    : folder_(folder), path_(folder + "/.attempt"), attempt_(attempt), calls_(calls) {}

absl::Status AttemptFence::Raise() const {
  if (absl::Status made = CreateFolders(folder_, calls_); !made.ok()) return made;
  const absl::StatusOr<LockedFence> fence = LockAndRead(path_);
  if (!fence.ok()) return fence.status();
  if (absl::Status status = CheckNotNewer(fence->newest, attempt_); !status.ok()) return status;
  if (ftruncate(fence->file.get(), attempt_) != 0) return ErrorAt(path_, "raise it");
  // Also where another rank has raised it: it may have been killed before it came here.
  if (calls_.Sync(fence->file.get()) != 0) return ErrorAt(path_, "write it to the disk");
  return absl::OkStatus();
}

absl::Status AttemptFence::Check() const {
  const absl::StatusOr<LockedFence> fence = LockAndRead(path_);
  return fence.ok() ? CheckNotNewer(fence->newest, attempt_) : fence.status();
}

int FencedFileCalls::Rename(const std::string& from, const std::string& to) {
  return Guarded(fence_.path_, fence_.attempt_, [&] { return calls_.Rename(from, to); });
}

int FencedFileCalls::Link(const std::string& from, const std::string& to) {
  return Guarded(fence_.path_, fence_.attempt_, [&] { return calls_.Link(from, to); });
}

int FencedFileCalls::Remove(const std::string& path) {
  return Guarded(fence_.path_, fence_.attempt_, [&] { return calls_.Remove(path); });
}

}  // namespace tandem::checkpoint
