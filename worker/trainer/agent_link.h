#pragma once

#include <atomic>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/file_descriptor.h"
#include "common/message_channel.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::trainer {

// The trainer's end of the conversation in trainer.proto. As long as it lives, a thread of its own
// reads what the agent sends; when the agent's end closes, the process exits at once, whatever it
// is doing: nobody is left to train for. Thread-safe.
class AgentLink {
 public:
  static constexpr int kAgentGoneExitCode = 1;

  explicit AgentLink(FileDescriptor socket);
  // Ends the conversation without ending the process.
  ~AgentLink();

  // Each blocks for the agent's next message.
  //   FailedPrecondition  it is another one.
  absl::StatusOr<v1::Prepare> AwaitPrepare();
  absl::StatusOr<v1::Start> AwaitStart();

  // The agent has asked this rank to pause.
  const std::atomic<bool>& pause_wanted() const { return pause_wanted_; }

  // As MessageChannel::Send.
  absl::Status Send(const v1::TrainerToAgent& message) { return channel_.Send(message); }

 private:
  void Watch();
  v1::AgentToTrainer Await();

  MessageChannel channel_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> pause_wanted_{false};
  absl::Mutex mutex_;
  std::deque<v1::AgentToTrainer> arrived_ ABSL_GUARDED_BY(mutex_);
  std::thread watcher_;  // last: it uses everything above
};

}  // namespace tandem::trainer
