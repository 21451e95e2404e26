#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// For tests: ranks that are threads of one process, and exchanges through its memory. Thread-safe.
class LoopbackNetwork {
 public:
  explicit LoopbackNetwork(uint32_t world_size) : world_size_(world_size) {}

  // Outlived by the network.
  std::unique_ptr<Transport> Join(Rank rank);

  // The rank is gone: exchanges that it did not start end with Unavailable.
  void Kill(Rank rank);

 private:
  class Endpoint;
  class Exchange;
  using Bytes = std::vector<std::byte>;

  // What `from` gave to its exchange number `number`; waits until it has.
  absl::Status Await(uint64_t number, Rank from, const bool& aborted, Bytes* bytes);
  void Give(uint64_t number, Rank from, absl::Span<const std::byte> bytes);

  const uint32_t world_size_;
  absl::Mutex mutex_;
  std::map<std::pair<uint64_t, uint32_t>, Bytes> given_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> dead_ ABSL_GUARDED_BY(mutex_) = std::vector<bool>(world_size_);
};

// Runs `body` once per rank, each on a thread of its own, and returns when all have.
void RunRanks(uint32_t world_size, const std::function<void(Transport&)>& body);

}  // namespace tandem::ddp
