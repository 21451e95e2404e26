#include "worker/command/report_forwarder.h"

#include <sys/socket.h>

#include <cerrno>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/command/tcp_address.h"

namespace tandem::command {

absl::StatusOr<std::unique_ptr<ReportForwarder>> ReportForwarder::Connect(
    EventLoop* loop, const v1::ReportHello& self, const std::string& address, uint16_t port) {
  const absl::StatusOr<TcpAddress> rank_zero = ParseTcpAddress(address, port);
  if (!rank_zero.ok()) return rank_zero.status();
  FileDescriptor connection(
      socket(rank_zero->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.valid() ||
      (connect(connection.get(), rank_zero->get(), rank_zero->size) != 0 && errno != EINPROGRESS)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("connect to ", address, ":", port));
  }
  return std::unique_ptr<ReportForwarder>(new ReportForwarder(loop, self, std::move(connection)));
}

ReportForwarder::ReportForwarder(EventLoop* loop, const v1::ReportHello& self,
                                 FileDescriptor socket)
    : rank_(self.rank()),
      channel_(
          loop, std::move(socket), [](const v1::ToRankZero&) {},
          [this](const absl::Status& reason) {
            std::cerr << "tandem-command: rank " << rank_
                      << " has lost its connection to rank 0, which counts its losses no more: "
                      << reason.message() << std::endl;
          }) {
  v1::ToRankZero message;
  *message.mutable_hello() = self;
  channel_.Send(message).IgnoreError();  // is short
}

void ReportForwarder::Report(const v1::StepReport& report) {
  v1::ToRankZero message;
  *message.mutable_report() = report;
  channel_.Send(message).IgnoreError();  // is short
}

void ReportForwarder::Finish(std::function<void()> done) {
  Flush();
  done();
}

}  // namespace tandem::command
