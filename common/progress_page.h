#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "tandem/v1/job.pb.h"

namespace tandem {

// Where a rank is: a page of memory that a trainer writes and its agent reads. It costs the trainer two
// stores, and what it says is still there after the trainer was killed.
class ProgressPage {
 public:
  struct Position {
    uint64_t step = 0;  // steps done
    v1::Phase phase = v1::PHASE_UNSPECIFIED;
  };

  // A new page, backed by an unnamed file whose descriptor a child can inherit. Close-on-exec.
  static absl::StatusOr<ProgressPage> Create();
  // The page behind an inherited descriptor.
  //   InvalidArgument  it is not a page.
  static absl::StatusOr<ProgressPage> Open(FileDescriptor file);

  ProgressPage(ProgressPage&& other) noexcept;
  ProgressPage& operator=(ProgressPage&&) = delete;
  ~ProgressPage();

  int fd() const { return file_.get(); }

  // Any thread, any process. Step and phase are one 64-bit word, so they always belong together.
  void Set(Position position);
  Position Get() const;

  // The process that does the work, where that is a program which the rank's own process has started. 0: none yet.
  void SetProcess(pid_t process);
  pid_t process() const;

  // That program has ended with an error; what is left of it is being cleared away.
  void NoteFailure();
  bool has_failed() const;

 private:
  ProgressPage(FileDescriptor file, void* memory);

  FileDescriptor file_;
  void* memory_;
};

}  // namespace tandem
