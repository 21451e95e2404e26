#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/slot_request.h"
#include "tandem/v1/host.pb.h"

namespace tandem::agent {

// What a worker offers.
struct OfferedSlots {
  // "cpu:0", "cuda:1", ..., each once.
  std::vector<std::string> names;
  // Why there is no device among them though one was looked for, in one line. Empty: there is one, or was not.
  std::string remark;
};

// Whether it takes a look at the devices of this host to know what is meant.
bool NeedsProbe(const std::vector<SlotRequest>& requests);

// `auto` is every device that works, of all kinds. Where none does, it is the CPU: one slot for each two of the `cores` that
// this process may use, since a rank computes on one and loads its data on another.
//   InvalidArgument     a slot is asked for twice; `auto` beside others; a device that is not there, named.
//   FailedPrecondition  a kind that does not work here: what its library says.
absl::StatusOr<OfferedSlots> OfferSlots(const std::vector<SlotRequest>& requests,
                                        const v1::ProbeReport& report, uint32_t cores);

}  // namespace tandem::agent
