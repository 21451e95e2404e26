#include "worker/ddp/bucket_slots.h"

#include <ATen/ops/zeros.h>

#include "absl/types/span.h"
#include "worker/ddp/exchange_header.h"

namespace tandem::ddp {
namespace {

constexpr size_t kCacheLine = 64;

size_t RoundUp(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

at::Tensor Bytes(size_t bytes, at::Device device) {
  return at::zeros({static_cast<int64_t>(bytes)}, at::device(device).dtype(at::kByte));
}

absl::Span<std::byte> SpanOf(const at::Tensor& bytes) {
  return {static_cast<std::byte*>(bytes.mutable_data_ptr()), bytes.nbytes()};
}

}  // namespace

BucketSlots::BucketSlots(Transport& transport, const BucketIdentity& identity, size_t blocks,
                         const std::optional<at::TensorOptions>& values)
    : transport_(transport),
      identity_(identity),
      values_begin_(RoundUp(sizeof(ExchangeHeader) + blocks * identity.segments)),
      row_(values ? RoundUp(identity.elements * sizeof(float)) : 0),
      slots_(Bytes(transport.world_size() *
                       (values_begin_ + (values && values->device().is_cpu() ? blocks * row_ : 0)),
                   at::kCPU)),
      values_(values && !values->device().is_cpu()
                  ? Bytes(transport.world_size() * blocks * row_, values->device())
                  : slots_),
      gather_(transport) {
  gather_.UseSlots(SpanOf(slots_));
}

uint8_t* BucketSlots::present(Rank rank, size_t block) const {
  return reinterpret_cast<uint8_t*>(gather_.PayloadOf(rank)) + block * identity_.segments;
}

at::Tensor BucketSlots::values(Rank rank, size_t block) const {
  const size_t of_rank = values_.nbytes() / transport_.world_size();
  const size_t begin = rank.value() * of_rank + (values_apart() ? 0 : values_begin_) + block * row_;
  return values_.narrow(0, static_cast<int64_t>(begin), identity_.elements * sizeof(float))
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
  if (values_apart()) pending_values_ = transport_.StartAllGather(SpanOf(values_));
}

absl::Status BucketSlots::Wait() {
  absl::Status status = gather_.Wait();
  if (!status.ok() || !values_apart()) return status;
  return WaitFor(std::move(pending_values_));
}

}  // namespace tandem::ddp
