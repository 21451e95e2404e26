#include "tests/nccl/entrance.h"

#include <deque>
#include <mutex>

#include "tests/nccl/warning.h"

namespace tandem::stand_in {

nccl::NcclComm* NewComm() {
  static std::mutex mutex;
  static auto* const all = new std::deque<nccl::NcclComm>;
  const std::lock_guard lock(mutex);
  return &all->emplace_back();
}

Entrance::Entrance(nccl::NcclComm* comm) : comm_(comm) {
  if (comm == nullptr) Die("called without a communicator");
  std::thread::id user;
  const std::thread::id self = std::this_thread::get_id();
  is_first_ = comm_->user.compare_exchange_strong(user, self, std::memory_order_relaxed);
  if (!is_first_ && user != self) Die("two threads inside one communicator at once");
  ++comm_->entries;
  if (comm_->inside == nullptr) Die("a communicator was used after its end");
}

Entrance::~Entrance() {
  ++comm_->entries;
  if (is_first_) comm_->user.store(std::thread::id(), std::memory_order_relaxed);
}

void Entrance::Close() const {
  comm_->inside->Stop();
  comm_->inside.reset();
}

}  // namespace tandem::stand_in
