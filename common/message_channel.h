#pragma once

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/file_descriptor.h"
#include "google/protobuf/message_lite.h"

namespace tandem {

// Protobuf messages over a stream socket, for a thread that may block. A loop that may not uses the
// frames of common/frame.h.
//
// Send may be called from several threads, Receive from one at a time; Shutdown from any, and makes
// a blocked Receive return. None of them raises SIGPIPE.
class MessageChannel {
 public:
  explicit MessageChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  // Blocks until the kernel has taken the whole message.
  //   InvalidArgument  longer than kMaxFrameBytes (frame.h).
  //   Unavailable      the peer has closed, or the channel was shut down.
  absl::Status Send(const google::protobuf::MessageLite& message);

  // Blocks for the next message.
  //   OutOfRange       the peer closed between two messages: the ordinary end.
  //   DataLoss         the peer closed inside a message, or sent what is not one.
  //   Unavailable      the socket failed.
  absl::Status Receive(google::protobuf::MessageLite* message);

  void Shutdown();

 private:
  const FileDescriptor socket_;
  absl::Mutex send_mutex_;
};

// Two connected ends, close-on-exec.
absl::StatusOr<std::pair<FileDescriptor, FileDescriptor>> MakeSocketPair();

}  // namespace tandem
