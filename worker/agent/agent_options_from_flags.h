#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/agent/agent.h"
#include "worker/agent/flags.h"

namespace tandem::agent {

// What the flags mean on this host: fills in what they leave to be found out, with a new
// incarnation, and makes the log folder. Says on stderr why no device is offered where one was looked for.
//   InvalidArgument   the trainer is missing or cannot be executed; the slots are not as in OfferSlots.
//   FailedPrecondition, Unavailable  as OfferSlots and host::ProbeDevices.
//   Any code of errno the log folder cannot be made.
absl::StatusOr<AgentOptions> MakeAgentOptions(const Flags& flags);

}  // namespace tandem::agent
