#include "worker/command/master_port.h"

#include <cstdint>
#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tandem::command {
namespace {

absl::StatusOr<HeldPort> Hold(const v1::Prepare& prepare, uint32_t port) {
  const auto number = static_cast<uint16_t>(port);
  return HostsStore(prepare.spec().command()) ? ListenOn(prepare.advertise_address(), number)
                                              : ReservePort(number);
}

}  // namespace

bool HostsStore(const v1::Command& command) { return command.store() != v1::RENDEZVOUS_STORE_NONE; }

absl::StatusOr<HeldPort> HoldMasterPort(const v1::Prepare& prepare) {
  const v1::Command& command = prepare.spec().command();
  absl::StatusOr<HeldPort> held = Hold(prepare, command.master_port());
  if (!absl::IsAlreadyExists(held.status())) return held;
  const absl::string_view taken = held.status().message();
  if (!command.any_port()) {
    return absl::AlreadyExistsError(
        absl::StrCat("command.master_port: ", taken,
                     "; leave the key out, or set command.any_port, to meet on a free one"));
  }
  std::cerr << "tandem-command: " << taken << "; the ranks meet on another one" << std::endl;
  return Hold(prepare, /*port=*/0);
}

}  // namespace tandem::command
