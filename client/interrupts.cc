#include "client/interrupts.h"

#include <pthread.h>

namespace tandem::client {

void Interrupts::Notify() {
  absl::MutexLock lock(&mutex_);
  ++count_;
  if (call_ != nullptr) call_->TryCancel();
}

int Interrupts::count() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

bool Interrupts::WaitFor(absl::Duration delay, int handled) const {
  absl::MutexLock lock(&mutex_);
  const auto more = [this, handled]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ > handled; };
  return mutex_.AwaitWithTimeout(absl::Condition(&more), delay);
}

InterruptibleCall::InterruptibleCall(Interrupts* interrupts, int handled,
                                     grpc::ClientContext* context)
    : interrupts_(*interrupts) {
  absl::MutexLock lock(&interrupts_.mutex_);
  interrupts_.call_ = context;
  if (interrupts_.count_ > handled) context->TryCancel();
}

InterruptibleCall::~InterruptibleCall() {
  absl::MutexLock lock(&interrupts_.mutex_);
  interrupts_.call_ = nullptr;
}

SignalForwarder::SignalForwarder(Interrupts* interrupts) {
  sigemptyset(&signals_);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  thread_ = std::thread([this, interrupts] {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0 && !stopping_) interrupts->Notify();
  });
}

SignalForwarder::~SignalForwarder() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace tandem::client
