#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file_descriptor.h"

namespace tandem {

// The one thread that owns everything its program knows: the thread that calls Run. Whatever happens
// (a pipe has bytes, a process ended, time passed, gRPC has a message) becomes a callback on it,
// one after the other, so nothing in the program needs a lock. Only Post may be called from other
// threads.
class EventLoop {
 public:
  using Task = std::function<void()>;
  // Receives the EPOLL* bits that are set.
  using FdCallback = std::function<void(uint32_t events)>;

  // Keeps a callback registered for as long as it lives. Must not outlive the loop; must go before
  // the descriptor that it watches is closed.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept
        : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { Reset(); }
    void Reset();
    // False once reset, or once its timer has fired.
    bool active() const { return loop_ != nullptr && loop_->Knows(id_); }

   private:
    friend class EventLoop;
    Registration(EventLoop* loop, uint64_t id) : loop_(loop), id_(id) {}

    EventLoop* loop_ = nullptr;
    uint64_t id_ = 0;
  };

  //   Any code of errno  the process is out of descriptors or memory.
  static absl::StatusOr<std::unique_ptr<EventLoop>> Create();

  // Runs `task` on the loop, after those posted before. Any thread. Tasks posted after the loop has
  // stopped are never run. Never waits for the loop, however many are waiting.
  void Post(Task task);

  // Calls `callback` whenever one of `events` (EPOLLIN, EPOLLOUT) is there, or the other end has
  // hung up. Level-triggered: a callback may leave work for its next call, so that no descriptor
  // starves another.
  [[nodiscard]] Registration Watch(int fd, uint32_t events, FdCallback callback);
  [[nodiscard]] Registration After(absl::Duration delay, Task task);

  // Returns after Stop.
  void Run();
  void Stop() { stopped_ = true; }

 private:
  struct Watched {
    int fd;
    // Shared, because a callback may end its own registration while it runs.
    std::shared_ptr<FdCallback> callback;
  };
  struct Timer {
    absl::Duration due;
    Task task;
  };

  EventLoop(FileDescriptor epoll, FileDescriptor posted_count);

  void Forget(uint64_t id);
  bool Knows(uint64_t id) const { return watched_.contains(id) || timers_.contains(id); }
  void RunPosted();
  void RunDueTimers();
  void RunReady();
  int MillisecondsToNextTimer() const;

  const SystemClock clock_;
  const FileDescriptor epoll_;
  // A semaphore: how many tasks are posted. It wakes the loop, once for each.
  const FileDescriptor posted_count_;
  absl::Mutex posted_mutex_;
  std::deque<Task> posted_ ABSL_GUARDED_BY(posted_mutex_);
  bool stopped_ = false;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Watched> watched_;
  std::map<uint64_t, Timer> timers_;
  std::set<std::pair<absl::Duration, uint64_t>> due_;
  Registration post_watch_;
};

}  // namespace tandem
