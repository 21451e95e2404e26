#include "worker/command/port_complaint.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tandem::command {

bool SaysPortTaken(absl::string_view text) {
  return absl::StrContains(absl::AsciiStrToLower(text), "address already in use");
}

void PortComplaint::Add(absl::string_view line) { age_ = SaysPortTaken(line) ? 0 : age_ + 1; }

}  // namespace tandem::command
