#include "worker/trainer/agent_link.h"

#include <unistd.h>

#include <utility>

namespace tandem::trainer {

AgentLink::AgentLink(FileDescriptor socket)
    : channel_(std::move(socket)), watcher_([this] { Watch(); }) {}

AgentLink::~AgentLink() {
  closing_ = true;
  channel_.Shutdown();
  watcher_.join();
}

void AgentLink::Watch() {
  v1::AgentToTrainer message;
  while (channel_.Receive(&message).ok()) {
    if (message.has_pause()) {
      pause_wanted_ = true;
      continue;
    }
    absl::MutexLock lock(&mutex_);
    arrived_.push_back(std::move(message));
  }
  // Without destructors: the other threads may be anywhere, also inside a collective that never
  // ends.
  if (!closing_) _exit(kAgentGoneExitCode);
}

v1::AgentToTrainer AgentLink::Await() {
  const auto not_empty = [this]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !arrived_.empty(); };
  absl::MutexLock lock(&mutex_, absl::Condition(&not_empty));
  v1::AgentToTrainer message = std::move(arrived_.front());
  arrived_.pop_front();
  return message;
}

absl::StatusOr<v1::Prepare> AgentLink::AwaitPrepare() {
  v1::AgentToTrainer message = Await();
  if (message.has_prepare()) return std::move(*message.mutable_prepare());
  return absl::FailedPreconditionError("the agent's first message is not Prepare");
}

absl::StatusOr<v1::Start> AgentLink::AwaitStart() {
  v1::AgentToTrainer message = Await();
  if (message.has_start()) return std::move(*message.mutable_start());
  return absl::FailedPreconditionError("the agent's second message is not Start");
}

}  // namespace tandem::trainer
