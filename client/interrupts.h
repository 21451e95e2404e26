#pragma once

#include <atomic>
#include <csignal>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"

namespace tandem::client {

// Counts how often the user asked to stop. A command remembers how many it has dealt with and
// passes that number to whatever waits, so that no interrupt is lost between two waits.
// Thread-safe.
class Interrupts {
 public:
  void Notify();
  int count() const;
  // True as soon as there are more than `handled`; false when `delay` has passed.
  bool WaitFor(absl::Duration delay, int handled) const;

 private:
  friend class InterruptibleCall;

  mutable absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Cancels an RPC when there are more interrupts than `handled`. One at a time; the context outlives
// it.
class InterruptibleCall {
 public:
  InterruptibleCall(Interrupts* interrupts, int handled, grpc::ClientContext* context);
  ~InterruptibleCall();

 private:
  Interrupts& interrupts_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP go to `interrupts` and do not end the process. To be
// made before any other thread is started, because threads inherit which signals are blocked.
class SignalForwarder {
 public:
  explicit SignalForwarder(Interrupts* interrupts);
  ~SignalForwarder();

 private:
  sigset_t signals_;
  sigset_t mask_before_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tandem::client
