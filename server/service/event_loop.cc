#include "server/service/event_loop.h"

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "common/clock.h"

namespace tandem::service {
namespace {

absl::Duration SteadyNow() { return SystemClock().Now().steady; }

}  // namespace

EventLoop::EventLoop(absl::Duration period, Closure tick)
    : period_(period), tick_(std::move(tick)) {}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Start() {
  absl::MutexLock lock(&mutex_);
  running_ = true;
  thread_ = std::thread([this] { Loop(); });
}

bool EventLoop::Post(Closure closure) {
  absl::MutexLock lock(&mutex_);
  if (running_) posted_.push_back(std::move(closure));
  return running_;
}

bool EventLoop::Run(Closure closure, absl::Duration timeout) {
  auto done = std::make_shared<absl::Notification>();
  const bool posted = Post([closure = std::move(closure), done]() mutable {
    closure();
    done->Notify();
  });
  return posted && done->WaitForNotificationWithTimeout(timeout);
}

void EventLoop::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    running_ = false;
  }
  if (thread_.joinable()) thread_.join();
}

bool EventLoop::TakePosted(absl::Duration timeout, std::deque<Closure>* posted) {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !running_ || !posted_.empty();
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
  *posted = std::exchange(posted_, {});
  return running_ || !posted->empty();
}

void EventLoop::Loop() {
  next_tick_ = SteadyNow() + period_;
  std::deque<Closure> posted;
  while (TakePosted(next_tick_ - SteadyNow(), &posted)) {
    for (Closure& closure : posted) closure();
    posted.clear();
    TickIfDue();
  }
}

void EventLoop::TickIfDue() {
  const absl::Duration now = SteadyNow();
  if (now < next_tick_) return;
  const bool held_up = now > next_tick_ + period_;
  next_tick_ = now + period_;
  waited_longer_ = held_up && !waited_longer_;
  if (!waited_longer_) tick_();
}

}  // namespace tandem::service
