#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "tandem/v1/worker.pb.h"
#include "worker/agent/rank_key.h"

namespace tandem::agent {

// What the coordinator has yet to be told, in order. While it cannot be reached, what ranks report
// waits here without limit (a few hundred bytes a second and rank); log lines wait up to a limit,
// beyond which they are left out and counted, and a line in their place says how many.
class Outbox {
 public:
  explicit Outbox(size_t log_bytes_limit) : log_bytes_limit_(log_bytes_limit) {}

  void Add(v1::WorkerToCoordinator message);

  bool empty() const { return messages_.empty(); }
  // Stays where it is until PopFront, so that a message whose sending failed is sent again.
  const v1::WorkerToCoordinator& front() const { return messages_.front(); }
  void PopFront();

 private:
  void AddLog(v1::WorkerToCoordinator message);
  // Puts the notice about lines left out so far in line.
  void AddNotice(const RankKey& key);

  const size_t log_bytes_limit_;
  std::deque<v1::WorkerToCoordinator> messages_;
  size_t log_bytes_ = 0;
  std::map<RankKey, uint64_t> left_out_;
};

}  // namespace tandem::agent
