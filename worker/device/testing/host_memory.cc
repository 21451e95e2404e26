#include "worker/device/testing/host_memory.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tandem::device {
namespace {

constexpr std::align_val_t kAlignment{256};  // as CUDA's

}  // namespace

class HostMemory::Block : public Memory {
 public:
  Block(std::shared_ptr<HostMemory> owner, std::byte* data)
      : owner_(std::move(owner)), data_(data) {}

  ~Block() override {
    {
      absl::MutexLock lock(&owner_->mutex_);
      owner_->ends_.erase(data_);
    }
    ::operator delete(data_, kAlignment);
  }

  std::byte* data() const override { return data_; }

 private:
  const std::shared_ptr<HostMemory> owner_;
  std::byte* const data_;
};

std::unique_ptr<Memory> HostMemory::Allocate(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);  // an address of its own
  auto* data = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  absl::MutexLock lock(&mutex_);
  ends_[data] = data + bytes;
  return std::make_unique<Block>(shared_from_this(), data);
}

bool HostMemory::Owns(const void* address) const {
  const auto* at = static_cast<Address>(address);
  absl::MutexLock lock(&mutex_);
  const auto next = ends_.upper_bound(at);
  return next != ends_.begin() && at < std::prev(next)->second;
}

}  // namespace tandem::device
