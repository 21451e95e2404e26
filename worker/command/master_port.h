#pragma once

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/command/held_port.h"

namespace tandem::command {

// Whether Tandem hosts the store on which the ranks meet; else the program of rank 0 binds the port itself.
bool HostsStore(const v1::Command& command);

// The port on which the ranks of an attempt meet, for rank 0: listening where the store is hosted, else only
// taken. One that the user asked for and somebody else has is replaced, and that said on stderr, where the
// specification allows it.
//   AlreadyExists  it is taken; the message names the holder.
//   Others         as those of ListenOn.
absl::StatusOr<HeldPort> HoldMasterPort(const v1::Prepare& prepare);

}  // namespace tandem::command
