#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/device/device.h"

namespace tandem::nccl {

// Buffers as the device sees them: its own as they are, and main memory through copies in the
// device's. Copies have a stream of their own, since one to main memory may block until its stream is
// there. The device's memory is kept for the next exchange: to give it back may wait for all that
// runs there. One thread at a time.
class Staging {
 public:
  class Buffer;

  Staging(device::Device& device ABSL_ATTRIBUTE_LIFETIME_BOUND,
          std::unique_ptr<device::Stream> stream)
      : device_(device), stream_(std::move(stream)) {}

  // Internal: there is no memory left.
  absl::StatusOr<Buffer> Stage(absl::Span<std::byte> buffer);

  device::Stream& stream() { return *stream_; }

 private:
  using MemoryBySize = std::multimap<size_t, std::unique_ptr<device::Memory>>;

  absl::StatusOr<MemoryBySize::node_type> Take(size_t bytes);

  device::Device& device_;
  const std::unique_ptr<device::Stream> stream_;
  MemoryBySize free_;
};

// One buffer, until its exchange is over; `owner` lives longer. The device's memory is free to be used
// again with its end.
class Staging::Buffer {
 public:
  Buffer(Staging& owner, absl::Span<std::byte> caller, MemoryBySize::node_type copy)
      : owner_(&owner), caller_(caller), copy_(std::move(copy)) {}
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (!copy_.empty()) owner_->free_.insert(std::move(copy_));
  }

  bool is_copy() const { return !copy_.empty(); }
  // In the device's memory.
  std::byte* data() const { return is_copy() ? copy_.mapped()->data() : caller_.data(); }
  size_t size() const { return caller_.size(); }

  // As work of the staging's stream, where there is a copy; else nothing.
  absl::Status CopyIn(size_t begin, size_t bytes) const;
  absl::Status CopyOut() const;

 private:
  Staging* owner_;
  absl::Span<std::byte> caller_;
  MemoryBySize::node_type copy_;  // empty: the caller's is the device's
};

}  // namespace tandem::nccl
