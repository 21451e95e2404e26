#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/frame.h"
#include "worker/process/event_loop.h"

namespace tandem {

// Frames (common/frame.h) over a stream socket, for a loop that may not block: what the other end does
// not read yet is kept. Loop only.
class FrameSocket {
 public:
  // OutOfRange: the other end closed, as it does when it exits. DataLoss: what it sent is no message.
  using ClosedCallback = std::function<void(const absl::Status&)>;

  virtual ~FrameSocket() = default;

  // Dropped when the other end has closed.
  //   InvalidArgument  longer than a frame may be.
  absl::Status Send(const google::protobuf::MessageLite& message);

  // Ends the conversation: nothing is delivered any more, not even what has arrived, and `on_closed` is not
  // called.
  void HangUp();
  // Delivers what the other end had sent, once it is gone.
  void Drain();
  // Blocks until the kernel has taken all that was sent, the other end is gone, or this has lasted for `patience`.
  void Flush(absl::Duration patience);

 protected:
  // `socket` is made non-blocking; it may still be connecting.
  FrameSocket(EventLoop* loop, FileDescriptor socket, ClosedCallback on_closed);

  bool is_open() const { return socket_.valid(); }
  // Takes the messages off the front of what has arrived, while this is open.
  virtual absl::Status Deliver(std::string* received) = 0;

 private:
  void WatchSocket();
  void OnReady(uint32_t events);
  // Reads once; false when there is nothing (more) to read for now.
  bool ReadSome();
  void WriteSome();
  void Close(const absl::Status& reason);

  EventLoop& loop_;
  FileDescriptor socket_;
  const ClosedCallback on_closed_;
  std::string received_, unsent_;
  EventLoop::Registration watch_;
};

// One end of a conversation in which the other end says `Incoming`.
template <typename Incoming>
class FrameChannel final : public FrameSocket {
 public:
  using MessageCallback = std::function<void(const Incoming&)>;

  // The callbacks must not destroy the channel; they may hang up. After `on_closed` neither is called again.
  FrameChannel(EventLoop* loop, FileDescriptor socket, MessageCallback on_message,
               ClosedCallback on_closed)
      : FrameSocket(loop, std::move(socket), std::move(on_closed)),
        on_message_(std::move(on_message)) {}

 private:
  absl::Status Deliver(std::string* received) override {
    Incoming message;
    absl::StatusOr<bool> taken = TakeFrame(received, &message);
    while (taken.ok() && *taken) {
      on_message_(message);
      if (!is_open()) return absl::OkStatus();
      taken = TakeFrame(received, &message);
    }
    return taken.status();
  }

  const MessageCallback on_message_;
};

}  // namespace tandem
