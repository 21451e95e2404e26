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
  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override;
  absl::Status Barrier() override;
  void Abort() override;

  absl::Status Receive(uint64_t number, Rank from, absl::Span<std::byte> into);

 private:
  LoopbackNetwork& network_;
  const Rank rank_;
  uint64_t started_ = 0;
  bool aborted_ = false;  // guarded by the network's mutex
};

class LoopbackNetwork::Exchange : public PendingExchange {
 public:
  Exchange(Endpoint& endpoint, uint64_t number, absl::Span<std::byte> slots)
      : endpoint_(endpoint), number_(number), slots_(slots) {}

  absl::Status Wait() override {
    const size_t slot_bytes = slots_.size() / endpoint_.world_size();
    for (uint32_t rank = 0; rank < endpoint_.world_size(); ++rank) {
      const auto slot = slots_.subspan(rank * slot_bytes, slot_bytes);
      absl::Status status = endpoint_.Receive(number_, Rank(rank), slot);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Endpoint& endpoint_;
  const uint64_t number_;
  const absl::Span<std::byte> slots_;
};

std::unique_ptr<PendingExchange> LoopbackNetwork::Endpoint::StartAllGather(
    absl::Span<std::byte> slots) {
  const size_t slot_bytes = slots.size() / world_size();
  const auto own = slots.subspan(rank_.value() * slot_bytes, slot_bytes);
  network_.Give(started_, rank_, Bytes(own.begin(), own.end()));
  return std::make_unique<Exchange>(*this, started_++, slots);
}

absl::Status LoopbackNetwork::Endpoint::Broadcast(absl::Span<std::byte> data, Rank root) {
  if (rank_ == root) network_.Give(started_, rank_, Bytes(data.begin(), data.end()));
  return Receive(started_++, root, data);
}

absl::Status LoopbackNetwork::Endpoint::Barrier() {
  Bytes slots(world_size());
  return AllGather(absl::MakeSpan(slots));
}

void LoopbackNetwork::Endpoint::Abort() {
  absl::MutexLock lock(&network_.mutex_);
  aborted_ = true;
}

absl::Status LoopbackNetwork::Endpoint::Receive(uint64_t number, Rank from,
                                                absl::Span<std::byte> into) {
  Bytes bytes;
  if (absl::Status status = network_.Await(number, from, aborted_, &bytes); !status.ok())
    return status;
  if (bytes.size() != into.size()) {
    return absl::InternalError(absl::StrFormat("rank %d sent %d bytes instead of %d", from.value(),
                                               bytes.size(), into.size()));
  }
  std::copy(bytes.begin(), bytes.end(), into.begin());
  return absl::OkStatus();
}

std::unique_ptr<Transport> LoopbackNetwork::Join(Rank rank) {
  return std::make_unique<Endpoint>(*this, rank);
}

void LoopbackNetwork::Kill(Rank rank) {
  absl::MutexLock lock(&mutex_);
  dead_[rank.value()] = true;
}

void LoopbackNetwork::Give(uint64_t number, Rank from, Bytes bytes) {
  absl::MutexLock lock(&mutex_);
  given_[{number, from.value()}] = std::move(bytes);
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
