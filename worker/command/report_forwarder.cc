#include "worker/command/report_forwarder.h"

#include <sys/socket.h>

#include <cerrno>
#include <iostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "worker/command/tcp_address.h"

namespace tandem::command {
namespace {

// With a connection that may never be made.
constexpr absl::Duration kFlushPatience = absl::Seconds(5);

// A socket that is connected or about to be.
absl::StatusOr<FileDescriptor> BeginToConnect(const std::string& address, uint16_t port) {
  const absl::StatusOr<TcpAddress> target = ParseTcpAddress(address, port);
  if (!target.ok()) return target.status();
  FileDescriptor connection(
      socket(target->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.valid() ||
      (connect(connection.get(), target->get(), target->size) != 0 && errno != EINPROGRESS)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("connect to ", address, ":", port));
  }
  return connection;
}

}  // namespace

ReportForwarder::ReportForwarder(EventLoop* loop, const v1::ReportHello& self,
                                 const std::string& address, uint16_t port)
    : rank_(self.rank()) {
  absl::StatusOr<FileDescriptor> connection = BeginToConnect(address, port);
  if (!connection.ok()) {
    OnLost(connection.status());
    return;
  }
  channel_ = std::make_unique<FrameChannel<v1::ToRankZero>>(
      loop, *std::move(connection), [](const v1::ToRankZero&) {},
      [this](const absl::Status& reason) { OnLost(reason); });
  v1::ToRankZero message;
  *message.mutable_hello() = self;
  Send(message);
}

void ReportForwarder::Report(const v1::StepReport& report) {
  has_reported_ = true;
  if (!why_lost_.empty()) SayLost();
  v1::ToRankZero message;
  *message.mutable_report() = report;
  Send(message);
}

void ReportForwarder::Finish(std::function<void()> done) {
  Flush();
  done();
}

void ReportForwarder::Flush() {
  if (channel_) channel_->Flush(kFlushPatience);
}

void ReportForwarder::Send(const v1::ToRankZero& message) {
  // Refused is only what is too long, and no message of these is.
  if (channel_) channel_->Send(message).IgnoreError();
}

void ReportForwarder::OnLost(const absl::Status& reason) {
  why_lost_ = std::string(reason.message());
  // Who reports nothing misses nothing.
  if (has_reported_) SayLost();
}

void ReportForwarder::SayLost() {
  std::cerr << "tandem-command: rank " << rank_
            << " has no connection to rank 0, which counts its losses no more: "
            << std::exchange(why_lost_, "") << std::endl;
}

}  // namespace tandem::command
