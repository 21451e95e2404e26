#include "worker/command/report_collector.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <utility>

#include "absl/strings/str_join.h"
#include "worker/command/report_token.h"

namespace tandem::command {
namespace {

constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

}  // namespace

ReportCollector::ReportCollector(EventLoop* loop, v1::ReportHello self, uint32_t world_size,
                                 HeldPort port, ProgressSender::Send send)
    : loop_(*loop),
      self_(std::move(self)),
      world_size_(world_size),
      listener_(std::move(port)),
      merger_(world_size),
      sender_(loop, std::move(send)) {
  // One that gives up in between must not block us.
  fcntl(listener_.socket.get(), F_SETFL, O_NONBLOCK);
  for (uint32_t rank = 1; rank < world_size; ++rank) running_.insert(rank);
  WatchListener();
}

void ReportCollector::WatchListener() {
  accept_watch_ = loop_.Watch(listener_.socket.get(), EPOLLIN, [this](uint32_t) { Accept(); });
}

void ReportCollector::Accept() {
  FileDescriptor socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.valid()) return AddPeer(std::move(socket));
  // It gave up in between.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  // No descriptor or memory is left: the connection stays ready, and trying again at once would be all we do.
  accept_watch_.Reset();
  accept_timer_ = loop_.After(kAcceptPause, [this] { WatchListener(); });
}

void ReportCollector::AddPeer(FileDescriptor socket) {
  if (peers_.size() >= world_size_ + kMaxStrangers) SendOldestStrangerAway();
  const uint64_t id = ++last_id_;
  Peer& peer = peers_[id];
  peer.channel = std::make_unique<FrameChannel<v1::ToRankZero>>(
      &loop_, std::move(socket),
      [this, id](const v1::ToRankZero& message) { OnMessage(id, message); },
      [this, id](const absl::Status&) { OnClosed(id); });
  peer.hello_timer = loop_.After(kHelloPatience, [this, id] { Drop(id); });
}

void ReportCollector::SendOldestStrangerAway() {
  const auto oldest = std::find_if(peers_.begin(), peers_.end(),
                                   [](const auto& peer) { return !peer.second.rank.has_value(); });
  if (oldest != peers_.end()) peers_.erase(oldest);
}

void ReportCollector::OnMessage(uint64_t id, const v1::ToRankZero& message) {
  if (message.has_hello()) return OnHello(id, message.hello());
  const std::optional<uint32_t> rank = peers_[id].rank;
  if (!rank.has_value()) return Drop(id);
  Add(*rank, message.report());
}

void ReportCollector::OnHello(uint64_t id, const v1::ReportHello& hello) {
  const bool is_ours = IsSameToken(hello.token(), self_.token()) &&
                       hello.job_id() == self_.job_id() && hello.attempt() == self_.attempt() &&
                       running_.contains(hello.rank()) && !connected_.contains(hello.rank());
  // A rank that says hello twice is out of its mind: its reports are no more, as if it had ended.
  if (peers_[id].rank.has_value()) return OnClosed(id);
  if (!is_ours) return Drop(id);
  connected_.insert(hello.rank());
  peers_[id].rank = hello.rank();
  peers_[id].hello_timer.Reset();
}

void ReportCollector::OnClosed(uint64_t id) {
  if (const std::optional<uint32_t> rank = peers_[id].rank) {
    merger_.End(*rank);
    running_.erase(*rank);
    Advance();
  }
  Drop(id);
  CheckFinished();
}

void ReportCollector::Drop(uint64_t id) {
  peers_[id].hello_timer.Reset();
  peers_[id].channel->HangUp();
  // Not now: its own callback may be running.
  loop_.Post([this, id] { peers_.erase(id); });
}

void ReportCollector::Report(const v1::StepReport& report) { Add(self_.rank(), report); }

void ReportCollector::Add(uint32_t rank, const v1::StepReport& report) {
  const absl::Status added = merger_.Add(rank, report, clock_.Now().steady);
  if (!added.ok() && complained_about_.insert(rank).second) {
    std::cerr << "tandem-command: " << added.message() << " (said once)" << std::endl;
  }
  Advance();
}

void ReportCollector::Advance() {
  const absl::Duration now = clock_.Now().steady;
  sender_.Add(merger_.Take(now));
  DescribeGivenUp();
  const std::optional<absl::Duration> deadline = merger_.deadline();
  if (!deadline.has_value()) {
    silence_timer_.Reset();
  } else if (!silence_timer_.active()) {
    silence_timer_ = loop_.After(*deadline - now, [this] { Advance(); });
  }
}

void ReportCollector::DescribeGivenUp() {
  if (const std::vector<uint32_t> ranks = merger_.TakeGivenUp(); !ranks.empty()) {
    std::cerr << "tandem-command: no loss was reported by rank " << absl::StrJoin(ranks, ", ")
              << " within " << absl::FormatDuration(ReportMerger::kPatience)
              << " of those of other ranks; the losses are counted without" << std::endl;
  }
  if (merger_.has_overflowed() && !std::exchange(complained_about_many_, true)) {
    std::cerr << "tandem-command: some ranks reported " << ReportMerger::kMaxWaiting
              << " steps more than others; the first of them are counted as they are (said once)"
              << std::endl;
  }
}

void ReportCollector::Finish(std::function<void()> done) {
  done_ = std::move(done);
  merger_.End(self_.rank());
  Advance();
  finish_timer_ = loop_.After(kPatience, [this] {
    std::erase_if(running_, [this](uint32_t rank) { return !connected_.contains(rank); });
    CheckFinished();
  });
  CheckFinished();
}

void ReportCollector::CheckFinished() {
  if (!done_ || !running_.empty()) return;
  Flush();
  std::exchange(done_, nullptr)();
}

void ReportCollector::Flush() {
  // Nobody is waited for any more who has said nothing yet.
  sender_.Add(merger_.Take(absl::InfiniteDuration()));
  sender_.Flush();
}

}  // namespace tandem::command
