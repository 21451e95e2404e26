#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem {

// A slot is named by a kind of device and a number, "cuda:1". This kind is always there, and its
// slots are no devices of their own.
inline constexpr absl::string_view kCpuKind = "cpu";

// "cuda" of "cuda:1".
absl::string_view KindOfSlot(absl::string_view slot);

// Lower-case letters, digits and '_', a letter first and no digit last, and no word of a SlotRequest; at most
// 63 of them.
bool IsKindOfDevice(absl::string_view text);

// Slots that a user asks for, before anybody has looked which devices there are.
struct SlotRequest {
  // "cpu:4" is {kind = "cpu", count = 4}; "cuda:2,0" is {kind = "cuda", indices = {2, 0}}; "cuda:all"
  // is {kind = "cuda"}; "auto" has no kind: what is best here.
  std::string kind = {};
  uint32_t count = 0;
  std::vector<uint32_t> indices = {};

  bool is_auto() const { return kind.empty(); }
  // How many slots it asks for; 0: all that there are.
  uint32_t size() const { return count > 0 ? count : static_cast<uint32_t>(indices.size()); }
};

//   InvalidArgument  it is none of the above, is more than 1024 slots, or has an index twice.
absl::StatusOr<SlotRequest> ParseSlotRequest(absl::string_view text);

}  // namespace tandem
