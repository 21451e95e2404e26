#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "tandem/v1/report.pb.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/command/report_reader.h"
#include "worker/command/stream_tap.h"
#include "worker/process/event_loop.h"

namespace tandem::command {

// The user's program while it runs, and what it says besides: reports, lines, its last exception. It inherits
// stdin, stdout and stderr; they are read here only where somebody listens to their lines. Loop only.
class Program {
 public:
  struct Listeners {
    std::function<void(const v1::StepReport&)> on_report;
    // Null: nobody listens.
    StreamTap::LineCallback on_stdout_line, on_stderr_line;
  };
  struct Place {
    // Process group.
    pid_t group = 0;
    // See Spawn.
    FileDescriptor held_until_exec = {};
  };

  // Makes the job's folder of checkpoints, and starts the program. Whoever calls this reaps it.
  //   Unavailable, ResourceExhausted  the system has no more processes, memory or descriptors.
  //   Any other code of errno         it cannot be started as it is written; the message says why.
  static absl::StatusOr<std::unique_ptr<Program>> Start(EventLoop* loop, const v1::Prepare& prepare,
                                                        const v1::Start& start, Listeners listeners,
                                                        Place place);

  pid_t pid() const { return pid_; }
  void AskToStop() { reports_->AskToStop(); }
  // Takes in what it had said, when nothing of it is left.
  void Drain();
  // What torchelastic wrote about its end.
  std::optional<v1::RankFailure> WrittenError() const;

 private:
  Program() = default;

  absl::Status MakePlumbing(EventLoop* loop, Listeners listeners);
  absl::Status Spawn(const v1::Prepare& prepare, const v1::Start& start, Place place);
  std::vector<std::string> Environment(const v1::Prepare& prepare, const v1::Start& start) const;

  pid_t pid_ = -1;
  // Without a name in any folder: nothing of it is left, whoever is killed.
  FileDescriptor error_file_;
  std::unique_ptr<ReportReader> reports_;
  std::unique_ptr<StreamTap> stdout_tap_, stderr_tap_;
};

}  // namespace tandem::command
