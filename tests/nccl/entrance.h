#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "tests/nccl/communicator.h"
#include "worker/nccl/nccl_api.h"

namespace tandem::nccl {

// What a caller holds. Kept for good, so that a call after its end is found out.
struct NcclComm {
  std::shared_ptr<stand_in::Communicator> inside;  // null after its end

  // Whose thread is inside. Relaxed: it must not bring about the order that callers have to see to.
  std::atomic<std::thread::id> user;
  // For ThreadSanitizer, which reports callers that keep no order even if they did not meet.
  uint64_t entries = 0;
};

}  // namespace tandem::nccl

namespace tandem::stand_in {

nccl::NcclComm* NewComm();

// A thread inside a communicator. A second one at the same time, or any after the communicator's end,
// ends the process.
class Entrance {
 public:
  explicit Entrance(nccl::NcclComm* comm);
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  nccl::NcclComm& comm() const { return *comm_; }
  Communicator& inside() const { return *comm_->inside; }
  // Ends it.
  void Close() const;

 private:
  nccl::NcclComm* const comm_;
  bool is_first_ = false;  // of this thread's, which may be inside already: a group is
};

}  // namespace tandem::stand_in
