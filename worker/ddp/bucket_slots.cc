#include "worker/ddp/bucket_slots.h"

#include <ATen/ops/zeros.h>

#include "worker/ddp/exchange_header.h"

namespace tandem::ddp {
namespace {

constexpr size_t kCacheLine = 64;

size_t RoundUp(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

BucketSlots::BucketSlots(Transport& transport, const BucketIdentity& identity, size_t blocks,
                         Content content)
    : identity_(identity),
      values_begin_(RoundUp(sizeof(ExchangeHeader) + blocks * identity.segments)),
      values_bytes_(content == Content::kPresence ? 0 : RoundUp(identity.elements * sizeof(float))),
      slot_bytes_(values_begin_ + blocks * values_bytes_),
      slots_(at::zeros({static_cast<int64_t>(transport.world_size() * slot_bytes_)}, at::kByte)),
      gather_(transport) {
  gather_.UseSlots({static_cast<std::byte*>(slots_.mutable_data_ptr()), slots_.nbytes()});
}

uint8_t* BucketSlots::present(Rank rank, size_t block) const {
  return reinterpret_cast<uint8_t*>(gather_.PayloadOf(rank)) + block * identity_.segments;
}

at::Tensor BucketSlots::values(Rank rank, size_t block) const {
  const size_t begin = rank.value() * slot_bytes_ + values_begin_ + block * values_bytes_;
  return slots_.narrow(0, static_cast<int64_t>(begin), identity_.elements * sizeof(float))
      .view(at::kFloat);
}

void BucketSlots::Start(uint64_t step) {
  gather_.Start({
      .job_hash = identity_.job_hash,
      .step = step,
      .elements = static_cast<uint64_t>(identity_.elements),
      .bucket = identity_.index,
      .logical_ranks = identity_.logical_ranks,
  });
}

}  // namespace tandem::ddp
