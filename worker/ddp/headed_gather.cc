#include "worker/ddp/headed_gather.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logical_ranks.h"

namespace tandem::ddp {

void HeadedGather::Start(const ExchangeHeader& header) {
  header_ = header;
  const ExchangeHeader own = HeaderOf(transport_.rank());
  std::memcpy(SlotOf(transport_.rank()), &own, sizeof(own));
  pending_ = transport_.StartAllGather(slots_);
}

absl::Status HeadedGather::Wait() {
  if (absl::Status status = WaitFor(std::move(pending_)); !status.ok()) return status;
  return CheckHeaders();
}

absl::Status HeadedGather::WaitFor(std::unique_ptr<PendingExchange> exchange) const {
  const absl::Status status = exchange->Wait();
  if (status.ok()) return status;
  const std::string place = PlaceOf(HeaderOf(transport_.rank()));
  return {status.code(), absl::StrCat(place, ": ", status.message())};
}

ExchangeHeader HeadedGather::HeaderOf(Rank rank) const {
  ExchangeHeader header = header_;
  header.leaves = LogicalRangeOf(rank, transport_.world_size(), header.logical_ranks);
  return header;
}

absl::Status HeadedGather::CheckHeaders() const {
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    ExchangeHeader received;
    std::memcpy(&received, SlotOf(Rank(rank)), sizeof(received));
    absl::Status status = CheckHeader(Rank(rank), HeaderOf(Rank(rank)), received);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tandem::ddp
