#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/slot_request.h"

namespace tandem::agent {

// The command line of tandem-worker. Each flag is documented by --help, beside its name in
// flags.cc.
struct Flags {
  std::string coordinator = "127.0.0.1:4270";
  // As --slots was given; it may be repeated.
  std::vector<SlotRequest> slots;
  std::string name;
  std::string advertise_address;
  std::string trainer;
  std::string log_dir;
  uint64_t log_cap_bytes = uint64_t{64} << 20;
  absl::Duration kill_grace = absl::Milliseconds(500);
  absl::Duration exit_when_coordinator_gone = absl::ZeroDuration();
  bool die_with_parent = false;
  bool allow_commands = false;
  // Not for people: only print what the host has, and exit.
  bool host_facts = false;

  // What --help or --version asked to see. When not empty, nothing else counts.
  std::string show;
};

//   InvalidArgument  one line that names the flag.
absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv);

}  // namespace tandem::agent
