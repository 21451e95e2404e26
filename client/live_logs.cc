#include "client/live_logs.h"

#include <utility>

#include "client/follow_logs.h"

namespace tandem::client {

LiveLogs::LiveLogs(std::unique_ptr<Connection> connection, const std::string& job_id,
                   const FollowOptions& options, OnLines on_lines)
    : connection_(std::move(connection)), options_(options), on_lines_(std::move(on_lines)) {
  options_.limits.interrupts = &stop_;
  options_.limits.handled = 0;
  thread_ = std::thread([this, job_id] { Read(job_id); });
}

LiveLogs::~LiveLogs() {
  stop_.Notify();
  thread_.join();
}

void LiveLogs::Read(const std::string& job_id) {
  v1::StreamLogsRequest request;
  request.set_job_id(job_id);
  request.set_follow(true);
  // What goes wrong here goes wrong for whoever follows the job, who tells of it.
  FollowLogs(
      connection_.get(), request, options_,
      [this](const v1::StreamLogsResponse& lines) {
        on_lines_(lines);
        return true;
      },
      [](const std::string&) {})
      .IgnoreError();
  finished_.Notify();
}

void LiveLogs::Finish(const Interrupts& interrupts, int handled) const {
  constexpr absl::Duration kBetweenLooks = absl::Milliseconds(20);
  while (!finished_.WaitForNotificationWithTimeout(kBetweenLooks)) {
    if (interrupts.WaitFor(absl::ZeroDuration(), handled)) return;
  }
}

}  // namespace tandem::client
