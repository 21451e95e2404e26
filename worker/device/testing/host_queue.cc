#include "worker/device/testing/host_queue.h"

#include <utility>

namespace tandem::device {

HostQueue::HostQueue(std::shared_ptr<const HostMemory> memory)
    : StreamHandle{.run =
                       [](StreamHandle* stream, void (*task)(void*), void* argument) {
                         static_cast<HostQueue*>(stream)->Put([=] { task(argument); });
                       },
                   .owns =
                       [](StreamHandle* stream, const void* address) {
                         return static_cast<HostQueue*>(stream)->memory_->Owns(address);
                       }},
      memory_(std::move(memory)),
      thread_([this] { Run(); }) {}

HostQueue::~HostQueue() {
  Put(nullptr);
  thread_.join();
}

void HostQueue::Put(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  work_.push_back(std::move(work));
}

void HostQueue::Run() {
  while (true) {
    const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !work_.empty(); };
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      work = std::move(work_.front());
      work_.pop_front();
    }
    if (!work) return;
    work();
  }
}

HostEvent::HostEvent(HostQueue& queue) {
  queue.Put([state = state_] {
    absl::MutexLock lock(&state->mutex);
    state->reached = true;
  });
}

absl::StatusOr<bool> HostEvent::Reached() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->reached;
}

void HostEvent::HoldUp(HostQueue& queue) const {
  queue.Put([state = state_] {
    absl::MutexLock lock(&state->mutex);
    state->mutex.Await(absl::Condition(&state->reached));
  });
}

}  // namespace tandem::device
