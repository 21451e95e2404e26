#include "worker/trainer/meeting.h"

#include <cstdint>

#include "worker/ddp/gloo_transport.h"
#include "worker/ddp/local_transport.h"
#include "worker/nccl/nccl_transport.h"

namespace tandem::trainer {
namespace {

// What a rank cannot do alone is not a matter of peers or of the job's specification, whatever its
// code.
absl::Status OwnFault(const absl::Status& status) { return absl::InternalError(status.message()); }

}  // namespace

absl::Status Meeting::Prepare(v1::Prepared* prepared) {
  if (absl::Status status = HoldMasterPort(prepared); !status.ok()) return status;
  return ConnectsDevices() ? PrepareToConnectDevices(prepared) : absl::OkStatus();
}

absl::Status Meeting::HoldMasterPort(v1::Prepared* prepared) {
  if (!IsFirst()) return absl::OkStatus();
  auto rendezvous = ddp::Rendezvous::Host(self_, address_);
  if (!rendezvous.ok()) return OwnFault(rendezvous.status());
  rendezvous_ = *std::move(rendezvous);
  prepared->set_master_port(rendezvous_->port());
  return absl::OkStatus();
}

// Every rank loads the library now: where it is missing, nobody shall wait for it in vain.
absl::Status Meeting::PrepareToConnectDevices(v1::Prepared* prepared) {
  auto library = nccl::NcclLibrary::Load(device_->collectives());
  if (!library.ok()) return library.status();
  nccl_ = *std::move(library);
  if (!IsFirst()) return absl::OkStatus();
  absl::StatusOr<std::string> id = nccl_->MintUniqueId();
  if (!id.ok()) return OwnFault(id.status());
  prepared->set_nccl_unique_id(*std::move(id));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ddp::Transport>> Meeting::Meet(const v1::Start& start) {
  if (absl::Status status = JoinRendezvous(start); !status.ok()) return status;
  if (absl::Status status = rendezvous_->AwaitAll(kTimeout); !status.ok()) return status;
  if (ConnectsDevices()) {
    return nccl::ConnectNccl(*nccl_, *device_, self_, start.nccl_unique_id(),
                             {.connect_timeout = kTimeout});
  }
  if (device_ != nullptr) return std::make_unique<ddp::LocalTransport>();
  ddp::GlooOptions options;
  options.address = address_;
  options.connect_timeout = kTimeout;
  return ddp::ConnectGloo(*rendezvous_, options);
}

absl::Status Meeting::JoinRendezvous(const v1::Start& start) {
  if (IsFirst()) return absl::OkStatus();
  auto rendezvous = ddp::Rendezvous::Connect(self_, start.master_address(),
                                             static_cast<uint16_t>(start.master_port()), kTimeout);
  if (!rendezvous.ok()) return rendezvous.status();
  rendezvous_ = *std::move(rendezvous);
  return absl::OkStatus();
}

}  // namespace tandem::trainer
