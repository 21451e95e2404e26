#include "worker/ddp/bucket_slots.h"

#include <ATen/ops/zeros.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::ddp {
namespace {

constexpr size_t kCacheLine = 64;

size_t RoundUp(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

BucketSlots::BucketSlots(Transport& transport, const BucketIdentity& identity, size_t blocks,
                         Content content)
    : transport_(transport),
      identity_(identity),
      values_begin_(RoundUp(sizeof(ExchangeHeader) + blocks * identity.segments)),
      values_bytes_(content == Content::kPresence ? 0 : RoundUp(identity.elements * sizeof(float))),
      slot_bytes_(values_begin_ + blocks * values_bytes_),
      slots_(at::zeros({static_cast<int64_t>(transport.world_size() * slot_bytes_)}, at::kByte)) {}

std::byte* BucketSlots::SlotOf(Rank rank) const {
  return static_cast<std::byte*>(slots_.mutable_data_ptr()) + rank.value() * slot_bytes_;
}

uint8_t* BucketSlots::present(Rank rank, size_t block) const {
  return reinterpret_cast<uint8_t*>(SlotOf(rank) + sizeof(ExchangeHeader) +
                                    block * identity_.segments);
}

at::Tensor BucketSlots::values(Rank rank, size_t block) const {
  const size_t begin = rank.value() * slot_bytes_ + values_begin_ + block * values_bytes_;
  return slots_.narrow(0, static_cast<int64_t>(begin), identity_.elements * sizeof(float))
      .view(at::kFloat);
}

ExchangeHeader BucketSlots::HeaderOf(Rank rank) const {
  return {
      .job_hash = identity_.job_hash,
      .step = step_,
      .elements = static_cast<uint64_t>(identity_.elements),
      .bucket = identity_.index,
      .logical_ranks = identity_.logical_ranks,
      .leaves = LogicalRangeOf(rank, transport_.world_size(), identity_.logical_ranks),
  };
}

void BucketSlots::Start(uint64_t step) {
  step_ = step;
  const ExchangeHeader header = HeaderOf(transport_.rank());
  std::memcpy(SlotOf(transport_.rank()), &header, sizeof(header));
  pending_ = transport_.StartAllGather({SlotOf(Rank(0)), slots_.nbytes()});
}

absl::Status BucketSlots::Wait() {
  if (absl::Status status = WaitFor(std::move(pending_)); !status.ok()) return status;
  return CheckHeaders();
}

absl::Status BucketSlots::WaitFor(std::unique_ptr<PendingExchange> exchange) const {
  const absl::Status status = exchange->Wait();
  if (status.ok()) return status;
  const std::string place = PlaceOf(HeaderOf(transport_.rank()));
  return {status.code(), absl::StrCat(place, ": ", status.message())};
}

absl::Status BucketSlots::CheckHeaders() const {
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    ExchangeHeader received;
    std::memcpy(&received, SlotOf(Rank(rank)), sizeof(received));
    absl::Status status = CheckHeader(Rank(rank), HeaderOf(Rank(rank)), received);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tandem::ddp
