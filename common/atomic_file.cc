#include "common/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file_descriptor.h"

namespace tandem {
namespace {

// Hidden, so that no pattern of names finds a half-written file.
constexpr const char* kTemporaryPrefix = ".";
constexpr const char* kTemporarySuffix = ".partial";

absl::Status ErrorAt(const std::string& path, absl::string_view action) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", action));
}

std::string FolderOf(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string TemporaryNameFor(const std::string& path) {
  absl::BitGen random;
  const std::string name = std::filesystem::path(path).filename();
  return absl::StrFormat("%s/%s%s.%016x%s", FolderOf(path), kTemporaryPrefix, name,
                         absl::Uniform<uint64_t>(random), kTemporarySuffix);
}

bool IsTemporaryName(const std::string& name) {
  return absl::StartsWith(name, kTemporaryPrefix) && absl::EndsWith(name, kTemporarySuffix);
}

enum class LockResult { kMine, kTaken, kUnsupported };

// A temporary is locked by whoever writes it, and the lock goes with its process: on this host by
// itself, and on another one as far as the file system can.
LockResult Lock(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return LockResult::kMine;
  return errno == EWOULDBLOCK ? LockResult::kTaken : LockResult::kUnsupported;
}

bool IsStillThere(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// A new file under a name of its own, which goes with it unless it was renamed.
class Temporary {
 public:
  static absl::StatusOr<Temporary> Create(const std::string& path, FileCalls& calls) {
    while (true) {
      std::string name = TemporaryNameFor(path);
      constexpr mode_t kReadAndWrite = 0666;  // less what the user's umask says
      FileDescriptor file(
          open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadAndWrite));
      if (!file.valid() && errno == EEXIST) continue;
      if (!file.valid()) return ErrorAt(path, "create it");
      Temporary temporary(std::move(name), std::move(file), calls);
      // Somebody who tidies up may have found it before it was locked.
      if (Lock(temporary.fd()) != LockResult::kTaken && IsStillThere(temporary.fd())) {
        return temporary;
      }
    }
  }

  Temporary(Temporary&& other) noexcept
      : name_(std::exchange(other.name_, "")),
        file_(std::move(other.file_)),
        calls_(other.calls_) {}
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary() {
    if (!name_.empty()) calls_.Remove(name_);
  }

  int fd() const { return file_.get(); }

  int MoveTo(const std::string& path, IfExists if_exists) {
    if (if_exists == IfExists::kFail) return calls_.Link(name_, path);
    const int result = calls_.Rename(name_, path);
    if (result == 0) name_.clear();
    return result;
  }

 private:
  Temporary(std::string name, FileDescriptor file, FileCalls& calls)
      : name_(std::move(name)), file_(std::move(file)), calls_(calls) {}

  std::string name_;
  FileDescriptor file_;
  FileCalls& calls_;
};

absl::Status SyncFolder(const std::string& folder, FileCalls& calls) {
  const FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return ErrorAt(folder, "open the folder");
  if (calls.Sync(opened.get()) != 0) return ErrorAt(folder, "sync the folder");
  return absl::OkStatus();
}

}  // namespace

int FileCalls::Sync(int fd) { return fsync(fd); }
int FileCalls::Rename(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str());
}
int FileCalls::Link(const std::string& from, const std::string& to) {
  return link(from.c_str(), to.c_str());
}
int FileCalls::Remove(const std::string& path) { return unlink(path.c_str()); }

FileCalls& FileCalls::System() {
  static FileCalls& calls = *new FileCalls;
  return calls;
}

absl::Status WriteFileAtomically(const std::string& path, IfExists if_exists,
                                 absl::FunctionRef<absl::Status(int fd)> write, FileCalls& calls) {
  auto temporary = Temporary::Create(path, calls);
  if (!temporary.ok()) return temporary.status();
  if (const absl::Status written = write(temporary->fd()); !written.ok()) {
    return absl::Status(written.code(), absl::StrCat(path, ": ", written.message()));
  }
  // Before the name: after a loss of power there may else be a name without its bytes.
  if (calls.Sync(temporary->fd()) != 0) return ErrorAt(path, "write it to the disk");
  if (temporary->MoveTo(path, if_exists) != 0) return ErrorAt(path, "put it in place");
  return SyncFolder(FolderOf(path), calls);
}

absl::Status RemoveStaleTemporaries(const std::string& folder, FileCalls& calls) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path();
    if (!IsTemporaryName(entry->path().filename())) continue;
    constexpr int kJustAFile = O_NOFOLLOW | O_NONBLOCK;
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | kJustAFile));
    // One that cannot be opened is somebody else's, or was renamed meanwhile.
    if (!file.valid() || Lock(file.get()) != LockResult::kMine) continue;
    if (calls.Remove(path) != 0 && errno != ENOENT) {
      return ErrorAt(path, "remove what a killed writer has left");
    }
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(folder, ": cannot list it"));
  return absl::OkStatus();
}

absl::Status CreateFolders(const std::string& path, FileCalls& calls) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  const std::string parent = FolderOf(path);
  if (absl::Status above = CreateFolders(parent, calls); !above.ok()) return above;
  constexpr mode_t kAll = 0777;  // less what the user's umask says
  if (mkdir(path.c_str(), kAll) != 0 && errno != EEXIST) return ErrorAt(path, "make the folder");
  return SyncFolder(parent, calls);
}

}  // namespace tandem
