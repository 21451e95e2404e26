#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "worker/process/event_loop.h"

namespace tandem::command {

// Signals that are blocked in this process, as callbacks on its loop.
class Signals {
 public:
  using Callback = std::function<void(int signal)>;

  //   Any code of errno  the process is out of descriptors or memory.
  static absl::StatusOr<std::unique_ptr<Signals>> Create(EventLoop* loop, Callback on_signal);

 private:
  Signals(EventLoop* loop, FileDescriptor signals, Callback on_signal);

  void OnReady();

  const FileDescriptor signals_;
  const Callback on_signal_;
  EventLoop::Registration watch_;
};

}  // namespace tandem::command
