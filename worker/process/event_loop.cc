#include "worker/process/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/status/status.h"

namespace tandem {

EventLoop::Registration& EventLoop::Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    Reset();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void EventLoop::Registration::Reset() {
  if (EventLoop* loop = std::exchange(loop_, nullptr)) loop->Forget(id_);
}

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return absl::ErrnoToStatus(errno, "epoll_create1");
  FileDescriptor posted_count(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  if (!posted_count.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(posted_count)));
}

EventLoop::EventLoop(FileDescriptor epoll, FileDescriptor posted_count)
    : epoll_(std::move(epoll)),
      posted_count_(std::move(posted_count)),
      post_watch_(Watch(posted_count_.get(), EPOLLIN, [this](uint32_t) { RunPosted(); })) {}

void EventLoop::Post(Task task) {
  {
    const absl::MutexLock lock(&posted_mutex_);
    posted_.push_back(std::move(task));
  }
  // The count holds more than there can be tasks: this cannot block.
  eventfd_write(posted_count_.get(), 1);
}

void EventLoop::RunPosted() {
  eventfd_t one = 0;
  if (eventfd_read(posted_count_.get(), &one) != 0) return;
  Task task;
  {
    const absl::MutexLock lock(&posted_mutex_);
    task = std::move(posted_.front());
    posted_.pop_front();
  }
  task();
}

EventLoop::Registration EventLoop::Watch(int fd, uint32_t events, FdCallback callback) {
  const uint64_t id = ++last_id_;
  watched_[id] = {fd, std::make_shared<FdCallback>(std::move(callback))};
  // By id, not by descriptor: an event already fetched for a descriptor that was closed since must
  // not reach the next owner of the same number.
  epoll_event event{.events = events, .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  return Registration(this, id);
}

EventLoop::Registration EventLoop::After(absl::Duration delay, Task task) {
  const uint64_t id = ++last_id_;
  const absl::Duration due = clock_.Now().steady + delay;
  timers_[id] = {due, std::move(task)};
  due_.emplace(due, id);
  return Registration(this, id);
}

void EventLoop::Forget(uint64_t id) {
  if (const auto watched = watched_.find(id); watched != watched_.end()) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched->second.fd, nullptr);
    watched_.erase(watched);
  } else if (const auto timer = timers_.find(id); timer != timers_.end()) {
    due_.erase({timer->second.due, id});
    timers_.erase(timer);
  }
}

void EventLoop::Run() {
  while (!stopped_) {
    RunReady();
    RunDueTimers();
  }
}

void EventLoop::RunReady() {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), MillisecondsToNextTimer());
  for (int i = 0; i < count; ++i) {
    const auto watched = watched_.find(ready[i].data.u64);
    if (watched == watched_.end()) continue;
    const std::shared_ptr<FdCallback> callback = watched->second.callback;
    (*callback)(ready[i].events);
  }
}

void EventLoop::RunDueTimers() {
  const absl::Duration now = clock_.Now().steady;
  while (!due_.empty() && due_.begin()->first <= now) {
    const uint64_t id = due_.begin()->second;
    const Task task = std::move(timers_.at(id).task);
    Forget(id);
    task();
  }
}

int EventLoop::MillisecondsToNextTimer() const {
  if (due_.empty()) return -1;
  const absl::Duration wait = due_.begin()->first - clock_.Now().steady;
  if (wait <= absl::ZeroDuration()) return 0;
  // Bounded, because epoll counts in an int; looking early costs nothing.
  const absl::Duration bounded = std::min(wait, absl::Hours(1));
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(bounded, absl::Milliseconds(1))));
}

}  // namespace tandem
