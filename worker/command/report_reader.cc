#include "worker/command/report_reader.h"

#include <sys/socket.h>

#include <iostream>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/message_channel.h"
#include "worker/command/report_line.h"

namespace tandem::command {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// Of one report: it may name every sample of a large batch.
constexpr size_t kMaxLineBytes = size_t{8} << 20;
// Of a line that is complained about.
constexpr size_t kShownBytes = 200;

constexpr absl::string_view kStop = "{\"stop\": true}\n";

}  // namespace

absl::StatusOr<std::unique_ptr<ReportReader>> ReportReader::Create(EventLoop* loop,
                                                                   ReportCallback on_report) {
  auto sockets = MakeSocketPair();
  if (!sockets.ok()) return sockets.status();
  return std::unique_ptr<ReportReader>(new ReportReader(
      loop, std::move(sockets->first), std::move(sockets->second), std::move(on_report)));
}

ReportReader::ReportReader(EventLoop* loop, FileDescriptor socket, FileDescriptor program_end,
                           ReportCallback on_report)
    : socket_(std::move(socket)),
      program_end_(std::move(program_end)),
      on_report_(std::move(on_report)),
      splitter_(kMaxLineBytes) {
  watch_ = loop->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { ReadSome(); });
}

void ReportReader::AskToStop() {
  send(socket_.get(), kStop.data(), kStop.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ReportReader::Drain() {
  while (ReadSome()) {
  }
  Take(splitter_.Finish());
}

bool ReportReader::ReadSome() {
  char bytes[kReadBytes];
  const ssize_t n = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (n > 0) Take(splitter_.Add({bytes, static_cast<size_t>(n)}));
  if (n == 0) watch_.Reset();
  return n > 0;
}

void ReportReader::Take(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const absl::StatusOr<v1::StepReport> report = ParseReport(line);
    if (report.ok()) {
      on_report_(*report);
    } else {
      std::cerr << "tandem-command: a line on TANDEM_REPORT_FD does not count: "
                << report.status().message() << ": " << line.substr(0, kShownBytes) << std::endl;
    }
  }
}

}  // namespace tandem::command
