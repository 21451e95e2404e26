#include "worker/command/stream_tap.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tandem::command {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int kForever = -1;

}  // namespace

absl::StatusOr<std::unique_ptr<StreamTap>> StreamTap::Create(EventLoop* loop, int to,
                                                             LineCallback on_line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  FileDescriptor from(ends[0]), program_end(ends[1]);
  fcntl(from.get(), F_SETFL, O_NONBLOCK);
  return std::unique_ptr<StreamTap>(
      new StreamTap(loop, to, std::move(from), std::move(program_end), std::move(on_line)));
}

StreamTap::StreamTap(EventLoop* loop, int to, FileDescriptor from, FileDescriptor program_end,
                     LineCallback on_line)
    : loop_(*loop),
      to_(to),
      from_(std::move(from)),
      program_end_(std::move(program_end)),
      on_line_(std::move(on_line)) {
  WatchSource();
}

void StreamTap::WatchSource() {
  source_watch_ = loop_.Watch(from_.get(), EPOLLIN, [this](uint32_t) {
    if (ReadSome()) WriteSome();
  });
}

bool StreamTap::ReadSome() {
  char bytes[kReadBytes];
  const ssize_t n = read(from_.get(), bytes, sizeof(bytes));
  if (n > 0) {
    const absl::string_view chunk(bytes, static_cast<size_t>(n));
    unwritten_.append(chunk.data(), chunk.size());
    Show(splitter_.Add(chunk));
    return true;
  }
  if (n == 0) {
    source_watch_.Reset();
    Show(splitter_.Finish());
  }
  return false;
}

void StreamTap::WriteSome() {
  while (written_ < unwritten_.size() && CanWrite(/*timeout_ms=*/0)) {
    // A pipe that can be written to takes this much. Its other end may belong to more than us, so it is not
    // made non-blocking.
    const size_t size = std::min<size_t>(unwritten_.size() - written_, PIPE_BUF);
    const ssize_t n = write(to_, unwritten_.data() + written_, size);
    // Where nobody reads any more, nothing is kept for anybody.
    if (n < 0 && errno != EINTR) written_ = unwritten_.size();
    if (n > 0) written_ += static_cast<size_t>(n);
  }
  if (written_ < unwritten_.size()) {
    source_watch_.Reset();
    target_watch_ = loop_.Watch(to_, EPOLLOUT, [this](uint32_t) { WriteSome(); });
    return;
  }
  unwritten_.clear();
  written_ = 0;
  if (target_watch_.active()) {
    target_watch_.Reset();
    WatchSource();
  }
}

bool StreamTap::CanWrite(int timeout_ms) const {
  pollfd target{to_, POLLOUT, 0};
  return poll(&target, 1, timeout_ms) == 1;
}

void StreamTap::Drain() {
  do {
    while (!unwritten_.empty()) {
      CanWrite(kForever);
      WriteSome();
    }
  } while (ReadSome());
}

void StreamTap::Show(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) on_line_(line);
}

}  // namespace tandem::command
