#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/device/device.h"

namespace tandem::device {

// The memory of the host's device: what was allocated here is its, and all else is main memory. Lives
// as long as any of it is in use. Thread-safe.
class HostMemory : public std::enable_shared_from_this<HostMemory> {
 public:
  std::unique_ptr<Memory> Allocate(size_t bytes);
  bool Owns(const void* address) const;

 private:
  class Block;
  using Address = const std::byte*;

  mutable absl::Mutex mutex_;
  std::map<Address, Address> ends_ ABSL_GUARDED_BY(mutex_);  // of allocations, by their begin
};

}  // namespace tandem::device
