#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "client/connection.h"
#include "client/follow.h"
#include "client/interrupts.h"

namespace tandem::client {

// Reads what the ranks of a job print while others follow the job: on a thread of its own, which
// `on_lines` is called on.
class LiveLogs {
 public:
  using OnLines = std::function<void(const v1::StreamLogsResponse&)>;

  // Of `options` all but the limits. The connection is for it alone.
  LiveLogs(std::unique_ptr<Connection> connection, const std::string& job_id,
           const FollowOptions& options, OnLines on_lines);
  // Stops reading.
  ~LiveLogs();

  // Returns when all lines of a job that has ended were read, when reading has failed, or when there
  // are more interrupts than `handled`.
  void Finish(const Interrupts& interrupts, int handled) const;

 private:
  void Read(const std::string& job_id);

  const std::unique_ptr<Connection> connection_;
  FollowOptions options_;
  const OnLines on_lines_;
  Interrupts stop_;
  absl::Notification finished_;
  std::thread thread_;
};

}  // namespace tandem::client
