#include "common/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace tandem {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": cannot be read: ", std::generic_category().message(error)));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // Without O_NONBLOCK a pipe of that name would wait for a writer.
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return CannotRead(path, errno);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(path + ": is not a file");
  std::string bytes;
  try {
    bytes.resize(static_cast<size_t>(info.st_size));
  } catch (const std::exception&) {  // too long for the memory, or for any string
    return CannotRead(path, ENOMEM);
  }
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return CannotRead(path, errno);
    if (n == 0) return absl::InvalidArgumentError(path + ": became shorter while it was read");
    got += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace tandem
