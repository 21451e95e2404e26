#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "worker/device/device.h"
#include "worker/device/testing/host_memory.h"
#include "worker/device/testing/host_stream.h"

namespace tandem::device {

// A stream whose work is done by a thread, in order. What is there at the end is still done first.
// Thread-safe.
class HostQueue : public Stream, private StreamHandle {
 public:
  explicit HostQueue(std::shared_ptr<const HostMemory> memory);
  ~HostQueue() override;

  StreamHandle* handle() const override {
    return const_cast<HostQueue*>(this);  // opaque to whoever has a const stream
  }
  void Put(std::function<void()> work);

 private:
  void Run();

  const std::shared_ptr<const HostMemory> memory_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);  // an empty one is the last
  std::thread thread_;
};

// A place in a HostQueue.
class HostEvent : public Event {
 public:
  explicit HostEvent(HostQueue& queue);
  absl::StatusOr<bool> Reached() const override;
  // What is put into `queue` from now on begins after this.
  void HoldUp(HostQueue& queue) const;

 private:
  struct State {
    absl::Mutex mutex;
    bool reached ABSL_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace tandem::device
