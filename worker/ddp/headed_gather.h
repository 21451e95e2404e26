#pragma once

#include <cstddef>
#include <memory>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/ids.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// All-gathers of slots that begin with a header each, so that what the other ranks sent is used
// only if it belongs to the same exchange. Not thread-safe.
class HeadedGather {
 public:
  explicit HeadedGather(Transport& transport ABSL_ATTRIBUTE_LIFETIME_BOUND)
      : transport_(transport) {}

  // Where the next exchanges take place: world size slots of equal size, which outlive them.
  void UseSlots(absl::Span<std::byte> slots) { slots_ = slots; }
  // What follows the header in the slot of `rank`.
  std::byte* PayloadOf(Rank rank) const { return SlotOf(rank) + sizeof(ExchangeHeader); }

  // Sends this rank's slot. `header`: as every rank gives it; `leaves` is filled in by rank.
  void Start(const ExchangeHeader& header);
  // Once after each Start: with all slots there, and their headers as expected.
  //   FailedPrecondition  a rank is at another exchange, or has other constants: names rank and
  //                       step.
  //   others              as Transport, naming the exchange.
  absl::Status Wait();

  // After Start: waits for another exchange of the same step and bucket. Errors as Transport,
  // naming both.
  absl::Status WaitFor(std::unique_ptr<PendingExchange> exchange) const;

 private:
  std::byte* SlotOf(Rank rank) const {
    return slots_.data() + rank.value() * (slots_.size() / transport_.world_size());
  }
  ExchangeHeader HeaderOf(Rank rank) const;
  absl::Status CheckHeaders() const;

  Transport& transport_;
  absl::Span<std::byte> slots_;

  // From Start on.
  ExchangeHeader header_;
  std::unique_ptr<PendingExchange> pending_;
};

}  // namespace tandem::ddp
