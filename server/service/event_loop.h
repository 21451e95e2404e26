#pragma once

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tandem::service {

// One thread that does one thing after the other, in the order they were posted. What only it
// touches needs no lock.
class EventLoop {
 public:
  using Closure = absl::AnyInvocable<void()>;

  // Calls `tick` on the loop's thread every `period`, after what had been posted by then. When the
  // process was held up, so that a tick is very late, other threads get one more period to post
  // what they missed.
  EventLoop(absl::Duration period, Closure tick);
  // As Stop().
  ~EventLoop();

  // Once, before anything is posted.
  void Start();

  // Any thread. False: the loop is not running, and the closure was destroyed without being run.
  bool Post(Closure closure);

  // Posts and waits until it was run. Must not be called on the loop's thread. False: as Post, or
  // it took longer than `timeout`; then it may still be run later, so it must own what it touches.
  bool Run(Closure closure, absl::Duration timeout);

  // Runs what was posted so far, then ends the thread. Idempotent; from one thread.
  void Stop();

 private:
  void Loop();
  void TickIfDue();
  // Waits for closures; false: stopped, and none is left.
  bool TakePosted(absl::Duration timeout, std::deque<Closure>* posted);

  const absl::Duration period_;
  Closure tick_;
  // Of the loop's thread; on the steady clock.
  absl::Duration next_tick_;
  bool waited_longer_ = false;
  absl::Mutex mutex_;
  std::deque<Closure> posted_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tandem::service
