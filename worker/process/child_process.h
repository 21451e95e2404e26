#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/spawn.h"
#include "worker/process/event_loop.h"

namespace tandem {

struct ExitStatus {
  int code = 0;
  // Not 0: ended by this signal.
  int signal = 0;
};

// A program in a process group of its own, from its start until nothing of the group is left. Loop
// only.
//
//   running --Terminate--> SIGTERM sent --kill_grace--> SIGKILL sent
//      |                        |                            |
//      +------------------------+------- leader ends --------+--> rest of the group killed --> gone
class ChildProcess {
 public:
  using GoneCallback = std::function<void(ExitStatus)>;

  // `on_gone` is called once, after the program is reaped and its group is empty. It may destroy
  // the object. Errors are those of Spawn.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(EventLoop* loop,
                                                             const Command& command,
                                                             GoneCallback on_gone);
  // Kills the group if any of it is left. Does not call `on_gone`.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Whether the leader has ended or is about to, by itself or killed, though the loop may not have
  // come to it yet. True before any peer can see that its sockets are closed.
  bool HasEnded() const;
  // SIGTERM to the group, and SIGKILL after `grace`. Later calls change nothing.
  void Terminate(absl::Duration grace);

 private:
  ChildProcess(EventLoop* loop, pid_t pid, FileDescriptor pidfd, GoneCallback on_gone);

  void OnLeaderEnded();
  void CheckGroup(absl::Duration waited);

  EventLoop& loop_;
  // Also the id of the group. Reserved by the kernel until the leader is reaped.
  const pid_t pid_;
  const FileDescriptor pidfd_;
  const GoneCallback on_gone_;
  bool terminating_ = false;
  bool reaped_ = false;
  ExitStatus status_;
  EventLoop::Registration exit_watch_, timer_;
};

}  // namespace tandem
