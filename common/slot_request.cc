#include "common/slot_request.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tandem {
namespace {

constexpr uint32_t kMostSlots = 1024;

absl::Status Malformed(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is none of auto, cpu:N with N from 1 to ", kMostSlots,
                   ", KIND:all, KIND:I,J,... such as cuda:all or cuda:0,1"));
}

// Digits and nothing else: no sign, no space.
bool ParseNumber(absl::string_view text, uint32_t* number) {
  const auto is_digit = [](char c) { return absl::ascii_isdigit(c); };
  return std::all_of(text.begin(), text.end(), is_digit) && absl::SimpleAtoi(text, number);
}

absl::StatusOr<SlotRequest> ParseIndices(absl::string_view text, absl::string_view kind,
                                         absl::string_view list) {
  SlotRequest request{.kind = std::string(kind)};
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    uint32_t index = 0;
    if (!ParseNumber(item, &index) || index >= kMostSlots) return Malformed(text);
    const auto& indices = request.indices;
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      return absl::InvalidArgumentError(absl::StrCat(kind, ":", index, " is there twice"));
    }
    request.indices.push_back(index);
  }
  return request;
}

}  // namespace

absl::string_view KindOfSlot(absl::string_view slot) { return slot.substr(0, slot.find(':')); }

bool IsKindOfDevice(absl::string_view text) {
  const auto is_plain = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  };
  constexpr size_t kLongest = 63;
  if (text.empty() || text.size() > kLongest || text == "auto" || text == "all") return false;
  return absl::ascii_islower(text.front()) && !absl::ascii_isdigit(text.back()) &&
         std::all_of(text.begin(), text.end(), is_plain);
}

absl::StatusOr<SlotRequest> ParseSlotRequest(absl::string_view text) {
  if (text == "auto") return SlotRequest{};
  const absl::string_view kind = KindOfSlot(text);
  if (!IsKindOfDevice(kind) || kind.size() == text.size()) return Malformed(text);
  const absl::string_view list = text.substr(kind.size() + 1);
  if (kind != kCpuKind) {
    return list == "all" ? SlotRequest{.kind = std::string(kind)} : ParseIndices(text, kind, list);
  }
  SlotRequest request{.kind = std::string(kind)};
  if (!ParseNumber(list, &request.count) || request.count < 1 || request.count > kMostSlots) {
    return Malformed(text);
  }
  return request;
}

}  // namespace tandem
