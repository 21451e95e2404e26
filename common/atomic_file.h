#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tandem {

// What is asked of the operating system once a file's bytes are written. A test lets them fail, or
// dies in them. Each returns 0, or -1 and sets errno.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  // Of a file or a folder: returns when it would survive a loss of power.
  virtual int Sync(int fd);
  virtual int Rename(const std::string& from, const std::string& to);
  // Fails with EEXIST where Rename would replace.
  virtual int Link(const std::string& from, const std::string& to);
  virtual int Remove(const std::string& path);

  // The operating system's. Lives for ever.
  static FileCalls& System();
};

enum class IfExists { kReplace, kFail };

// Makes the file `path` out of what `write` writes to the descriptor that it is given, so that at any
// moment, also after a crash in between, what stands under that name is whole: what was there before,
// or all of it. Of several writers at once the last one wins. The new file is on the disk on return.
//   AlreadyExists      the file is there, and kFail.
//   ResourceExhausted  the disk or the quota is full.
//   others             of `write`, or by the errno of what failed; PermissionDenied, NotFound.
// All messages start with the path. After an error there is what was there before, or, where only the
// folder could not be synced, the new file; never a piece of one.
absl::Status WriteFileAtomically(const std::string& path, IfExists if_exists,
                                 absl::FunctionRef<absl::Status(int fd)> write,
                                 FileCalls& calls = FileCalls::System());

// Removes what writers that were killed have left in a folder, but nothing of one that still writes.
//   others  by errno; the message names the path.
absl::Status RemoveStaleTemporaries(const std::string& folder,
                                    FileCalls& calls = FileCalls::System());

// Makes the folder and those above it where they are missing; they are on the disk on return.
//   others  by errno; the message names the path.
absl::Status CreateFolders(const std::string& path, FileCalls& calls = FileCalls::System());

}  // namespace tandem
