#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "common/tail.h"
#include "tandem/v1/worker.pb.h"
#include "worker/agent/rank_key.h"

namespace tandem::agent {

// What the coordinator has yet to take over, numbered and in order. A message stays until it is
// acknowledged, and is sent once more after each new connection. What ranks report waits here
// without limit (a few hundred bytes a second and rank); log lines wait up to a limit, beyond which
// they are left out and counted, and a line in their place says how many. What a rank printed last is never left out.
class Outbox {
 public:
  explicit Outbox(size_t log_bytes_limit) : log_bytes_limit_(log_bytes_limit) {}

  void Add(v1::WorkerToCoordinator message);

  // The next one to be sent over this connection; nullptr: all have been.
  const v1::WorkerToCoordinator* Next() const;
  // It is on its way.
  void NoteSent() { ++sent_; }
  // A new connection: everything that has not been acknowledged is to be sent again.
  void Rewind() { sent_ = 0; }

  // Drops all up to this number, and hands each to `taken`.
  void Acknowledge(uint64_t sequence,
                   const std::function<void(const v1::WorkerToCoordinator&)>& taken);
  // Everything has been acknowledged.
  bool empty() const { return messages_.empty(); }
  // The number of the first that has not been, whether it exists yet or not.
  uint64_t first_sequence() const { return last_sequence_ + 1 - messages_.size(); }

 private:
  // Of one rank's lines that are left out, the end that is kept.
  static constexpr size_t kTailBytes = size_t{256} << 10;
  using LeftOut = Tail<v1::LogLine>;

  void AddLog(v1::WorkerToCoordinator message);
  // The end of the lines that were left out so far, and before it how many are missing.
  void AddEnd(const RankKey& key);
  void Append(v1::WorkerToCoordinator message);

  const size_t log_bytes_limit_;
  std::deque<v1::WorkerToCoordinator> messages_;
  // How many of them have been sent over this connection.
  size_t sent_ = 0;
  uint64_t last_sequence_ = 0;
  size_t log_bytes_ = 0;
  std::map<RankKey, LeftOut> left_out_;
};

}  // namespace tandem::agent
