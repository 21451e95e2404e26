#include "worker/process/event_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/status/status.h"

namespace tandem {
namespace {

// Of a posted task, as it travels.
constexpr size_t kPointerBytes = sizeof(void*);

}  // namespace

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
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  return std::unique_ptr<EventLoop>(
      new EventLoop(std::move(epoll), FileDescriptor(ends[0]), FileDescriptor(ends[1])));
}

EventLoop::EventLoop(FileDescriptor epoll, FileDescriptor post_read, FileDescriptor post_write)
    : epoll_(std::move(epoll)),
      post_read_(std::move(post_read)),
      post_write_(std::move(post_write)),
      post_watch_(Watch(post_read_.get(), EPOLLIN, [this](uint32_t) { RunPosted(); })) {}

EventLoop::~EventLoop() {
  pollfd waiting{post_read_.get(), POLLIN, 0};
  Task* task = nullptr;
  while (poll(&waiting, 1, 0) == 1 && read(post_read_.get(), &task, kPointerBytes) > 0) delete task;
}

void EventLoop::Post(Task task) {
  auto* posted = new Task(std::move(task));
  while (write(post_write_.get(), &posted, kPointerBytes) < 0 && errno == EINTR) {
  }
}

void EventLoop::RunPosted() {
  Task* posted = nullptr;
  if (read(post_read_.get(), &posted, kPointerBytes) != kPointerBytes) return;
  const std::unique_ptr<Task> task(posted);
  (*task)();
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
