#include "worker/ddp/loopback_transport.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"

namespace tandem::ddp {

class LoopbackNetwork::Endpoint : public Transport {
 public:
  Endpoint(LoopbackNetwork& network, Rank rank) : network_(network), rank_(rank) {}

  Rank rank() const override { return rank_; }
  uint32_t world_size() const override { return network_.world_size_; }
  std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) override;
  std::unique_ptr<PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                 absl::Span<std::byte> receive) override;
  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override;
  absl::Status Barrier() override;
  void Abort() override;

  // Into `into`, the part from `begin` of the `size` bytes that `from` gave.
  absl::Status Receive(uint64_t number, Rank from, size_t begin, size_t size,
                       absl::Span<std::byte> into);

 private:
  LoopbackNetwork& network_;
  const Rank rank_;
  uint64_t started_ = 0;
  bool aborted_ = false;  // guarded by the network's mutex
};

class LoopbackNetwork::Exchange : public PendingExchange {
 public:
  // Of the `given_bytes` that each rank gave, the slot from `begin` is for this one.
  Exchange(Endpoint& endpoint, uint64_t number, size_t begin, size_t given_bytes,
           absl::Span<std::byte> slots)
      : endpoint_(endpoint),
        number_(number),
        begin_(begin),
        given_bytes_(given_bytes),
        slots_(slots) {}

  absl::Status Wait() override {
    const size_t slot_bytes = slots_.size() / endpoint_.world_size();
    for (uint32_t rank = 0; rank < endpoint_.world_size(); ++rank) {
      const auto slot = slots_.subspan(rank * slot_bytes, slot_bytes);
      absl::Status status = endpoint_.Receive(number_, Rank(rank), begin_, given_bytes_, slot);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Endpoint& endpoint_;
  const uint64_t number_;
  const size_t begin_;
  const size_t given_bytes_;
  const absl::Span<std::byte> slots_;
};

std::unique_ptr<PendingExchange> LoopbackNetwork::Endpoint::StartAllGather(
    absl::Span<std::byte> slots) {
  const size_t slot_bytes = slots.size() / world_size();
  network_.Give(started_, rank_, slots.subspan(rank_.value() * slot_bytes, slot_bytes));
  return std::make_unique<Exchange>(*this, started_++, 0, slot_bytes, slots);
}

std::unique_ptr<PendingExchange> LoopbackNetwork::Endpoint::StartAllToAll(
    absl::Span<const std::byte> send, absl::Span<std::byte> receive) {
  network_.Give(started_, rank_, send);
  const size_t begin = rank_.value() * (send.size() / world_size());
  return std::make_unique<Exchange>(*this, started_++, begin, send.size(), receive);
}

absl::Status LoopbackNetwork::Endpoint::Broadcast(absl::Span<std::byte> data, Rank root) {
  if (rank_ == root) network_.Give(started_, rank_, data);
  return Receive(started_++, root, 0, data.size(), data);
}

absl::Status LoopbackNetwork::Endpoint::Barrier() {
  Bytes slots(world_size());
  return AllGather(absl::MakeSpan(slots));
}

void LoopbackNetwork::Endpoint::Abort() {
  absl::MutexLock lock(&network_.mutex_);
  aborted_ = true;
}

absl::Status LoopbackNetwork::Endpoint::Receive(uint64_t number, Rank from, size_t begin,
                                                size_t size, absl::Span<std::byte> into) {
  Bytes bytes;
  if (absl::Status status = network_.Await(number, from, aborted_, &bytes); !status.ok())
    return status;
  if (bytes.size() != size) {
    return absl::InternalError(
        absl::StrFormat("rank %d sent %d bytes instead of %d", from.value(), bytes.size(), size));
  }
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(begin), into.size(), into.begin());
  return absl::OkStatus();
}

std::unique_ptr<Transport> LoopbackNetwork::Join(Rank rank) {
  return std::make_unique<Endpoint>(*this, rank);
}

void LoopbackNetwork::Kill(Rank rank) {
  absl::MutexLock lock(&mutex_);
  dead_[rank.value()] = true;
}

void LoopbackNetwork::Give(uint64_t number, Rank from, absl::Span<const std::byte> bytes) {
  absl::MutexLock lock(&mutex_);
  given_[{number, from.value()}].assign(bytes.begin(), bytes.end());
}

absl::Status LoopbackNetwork::Await(uint64_t number, Rank from, const bool& aborted, Bytes* bytes) {
  absl::MutexLock lock(&mutex_);
  const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return aborted || dead_[from.value()] || given_.contains({number, from.value()});
  };
  mutex_.Await(absl::Condition(&over));
  if (aborted) return absl::CancelledError("the exchange was aborted");
  const auto found = given_.find({number, from.value()});
  if (found == given_.end()) {
    return absl::UnavailableError(absl::StrFormat("rank %d is gone", from.value()));
  }
  *bytes = found->second;
  return absl::OkStatus();
}

void RunRanks(uint32_t world_size, const std::function<void(Transport&)>& body) {
  LoopbackNetwork network(world_size);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] { body(*network.Join(Rank(rank))); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tandem::ddp
