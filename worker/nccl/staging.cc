#include "worker/nccl/staging.h"

#include <algorithm>
#include <bit>

namespace tandem::nccl {
namespace {

constexpr size_t kSmallest = 512;

}  // namespace

absl::StatusOr<Staging::Buffer> Staging::Stage(absl::Span<std::byte> buffer) {
  if (buffer.empty() || device_.Owns(buffer.data())) return Buffer(*this, buffer, {});
  absl::StatusOr<MemoryBySize::node_type> copy = Take(buffer.size());
  if (!copy.ok()) return copy.status();
  return Buffer(*this, buffer, *std::move(copy));
}

// In powers of two, so that exchanges of nearly the same size share.
absl::StatusOr<Staging::MemoryBySize::node_type> Staging::Take(size_t bytes) {
  const size_t size = std::bit_ceil(std::max(bytes, kSmallest));
  if (auto kept = free_.extract(size); !kept.empty()) return kept;
  absl::StatusOr<std::unique_ptr<device::Memory>> memory = device_.Allocate(size);
  if (!memory.ok()) return memory.status();
  return free_.extract(free_.emplace(size, *std::move(memory)));
}

absl::Status Staging::Buffer::CopyIn(size_t begin, size_t bytes) const {
  if (!is_copy()) return absl::OkStatus();
  return owner_->device_.Copy(data() + begin, caller_.data() + begin, bytes, owner_->stream());
}

absl::Status Staging::Buffer::CopyOut() const {
  if (!is_copy()) return absl::OkStatus();
  return owner_->device_.Copy(caller_.data(), data(), caller_.size(), owner_->stream());
}

}  // namespace tandem::nccl
