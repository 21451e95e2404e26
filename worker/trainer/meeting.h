#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/ddp/membership.h"
#include "worker/ddp/rendezvous.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"
#include "worker/nccl/nccl_library.h"

namespace tandem::trainer {

// How the ranks of an attempt come together: on the CPU through Gloo, on devices through the library
// that connects them. Not thread-safe.
class Meeting {
 public:
  static constexpr absl::Duration kTimeout = absl::Seconds(60);

  // `address`: where the other ranks reach this host. `device`: what this rank trains on, which
  // outlives the meeting; null: the CPU.
  Meeting(ddp::Membership self, std::string address, device::Device* device)
      : self_(std::move(self)), address_(std::move(address)), device_(device) {}

  // All that can be done before the others are there, and puts what rank 0 has to tell them into
  // `prepared`. Rank 0 binds the port here, so that it is held before anyone is told about it.
  //   FailedPrecondition  what connects several devices is missing: as NcclLibrary::Load.
  //   Internal            rank 0 cannot hold a port, or make the id by which devices connect.
  absl::Status Prepare(v1::Prepared* prepared);

  // Blocks until all ranks are connected. The meeting outlives the transport.
  //   errors as ddp::Rendezvous, and ddp::ConnectGloo or nccl::ConnectNccl.
  absl::StatusOr<std::unique_ptr<ddp::Transport>> Meet(const v1::Start& start);

 private:
  bool IsFirst() const { return self_.rank == Rank(0); }
  bool ConnectsDevices() const { return device_ != nullptr && self_.world_size > 1; }
  absl::Status HoldMasterPort(v1::Prepared* prepared);
  absl::Status PrepareToConnectDevices(v1::Prepared* prepared);
  absl::Status JoinRendezvous(const v1::Start& start);

  // Constant after construction.
  const ddp::Membership self_;
  const std::string address_;
  device::Device* const device_;

  std::unique_ptr<ddp::Rendezvous> rendezvous_;
  std::unique_ptr<nccl::NcclLibrary> nccl_;  // if it connects devices
};

}  // namespace tandem::trainer
