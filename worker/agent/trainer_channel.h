#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/file_descriptor.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {

// The agent's end of the conversation with one trainer. Never blocks: what the trainer does not
// read yet is kept. Loop only.
class TrainerChannel {
 public:
  using MessageCallback = std::function<void(const v1::TrainerToAgent&)>;
  // OutOfRange: the trainer closed its end, as it does when it exits. DataLoss: what it sent is no
  // message.
  using ClosedCallback = std::function<void(const absl::Status&)>;

  // `socket` is made non-blocking. The callbacks must not destroy the channel. After `on_closed`
  // neither is called again.
  TrainerChannel(EventLoop* loop, FileDescriptor socket, MessageCallback on_message,
                 ClosedCallback on_closed);

  // Dropped when the trainer has closed its end.
  //   InvalidArgument  longer than a frame may be.
  absl::Status Send(const v1::AgentToTrainer& message);

  // Delivers what the trainer had sent, once it is gone.
  void Drain();

 private:
  void WatchSocket();
  void OnReady(uint32_t events);
  // Reads once; false when there is nothing (more) to read for now.
  bool ReadSome();
  void DeliverFrames();
  void WriteSome();
  void Close(const absl::Status& reason);

  EventLoop& loop_;
  FileDescriptor socket_;
  const MessageCallback on_message_;
  const ClosedCallback on_closed_;
  std::string received_, unsent_;
  EventLoop::Registration watch_;
};

}  // namespace tandem::agent
