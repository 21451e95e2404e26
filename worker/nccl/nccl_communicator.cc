#include "worker/nccl/nccl_communicator.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "worker/nccl/nccl_status.h"
#include "worker/nccl/patience.h"

namespace tandem::nccl {
namespace {

bool IsUnderWay(NcclResult result) {
  return result == NcclResult::kSuccess || result == NcclResult::kInProgress;
}

absl::Status Named(absl::Status status, const ddp::Membership& self) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrFormat("rank %d of %d cannot connect: %s", self.rank.value(),
                                      self.world_size, status.message()));
}

}  // namespace

NcclCommunicator::~NcclCommunicator() {
  End(absl::CancelledError("the communicator is gone")).IgnoreError();
}

absl::Status NcclCommunicator::Connect(const ddp::Membership& self, const NcclUniqueId& id,
                                       absl::Duration timeout) {
  Patience patience(timeout);
  NcclConfig config;
  config.blocking = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.ok()) return Named(end_, self);
    const NcclResult result =
        api_.comm_init_rank_config(&comm_, static_cast<int>(self.world_size), id,
                                   static_cast<int>(self.rank.value()), &config);
    if (absl::Status status = After(result); !status.ok()) return Named(status, self);
  }
  const absl::StatusOr<bool> connected = patience.Until([this] { return Ready(); });
  if (!connected.ok()) return Named(connected.status(), self);
  if (*connected) return absl::OkStatus();
  return Named(End(absl::DeadlineExceededError(
                   absl::StrCat("a rank did not come within ", absl::FormatDuration(timeout),
                                ", or cannot be reached from here; see the logs of the others"))),
               self);
}

absl::StatusOr<bool> NcclCommunicator::Ready() {
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return end_;
  NcclResult state = NcclResult::kSuccess;
  const NcclResult asked = api_.comm_get_async_error(comm_, &state);
  if (absl::Status status = After(asked); !status.ok()) return status;
  if (absl::Status status = After(state); !status.ok()) return status;
  return state == NcclResult::kSuccess;
}

absl::Status NcclCommunicator::Launch(Calls calls) {
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return end_;
  return After(calls(api_, comm_));
}

absl::Status NcclCommunicator::Cause() {
  absl::MutexLock lock(&mutex_);
  return end_;
}

void NcclCommunicator::Finish() {
  Patience patience(ending_timeout_);
  if (!Launch([](const NcclApi& api, NcclComm* comm) { return api.comm_finalize(comm); }).ok())
    return;
  const absl::StatusOr<bool> over = patience.Until([this] { return Ready(); });
  if (!over.ok()) return;
  if (!*over) {
    End(absl::DeadlineExceededError("a peer did not take leave")).IgnoreError();
    return;
  }
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return;
  Release(api_.comm_destroy);
  end_ = absl::CancelledError("the communicator is finished");
}

absl::Status NcclCommunicator::End(absl::Status cause) {
  absl::MutexLock lock(&mutex_);
  return EndLocked(std::move(cause));
}

absl::Status NcclCommunicator::EndLocked(absl::Status cause) {
  if (end_.ok()) end_ = std::move(cause);
  if (comm_ != nullptr) Release(api_.comm_abort);
  return end_;
}

// In a thread of its own, which is left behind if it hangs: the process is to end all the same, and to
// say why. Nobody else can be inside, now or later.
void NcclCommunicator::Release(decltype(NcclApi::comm_abort) release) {
  const auto over = std::make_shared<absl::Notification>();
  std::thread([over, release, comm = std::exchange(comm_, nullptr)] {
    release(comm);
    over->Notify();
  }).detach();
  hangs_ = !over->WaitForNotificationWithTimeout(ending_timeout_);
}

bool NcclCommunicator::hangs() {
  absl::MutexLock lock(&mutex_);
  return hangs_;
}

absl::Status NcclCommunicator::After(NcclResult result) {
  if (IsUnderWay(result)) return absl::OkStatus();
  return EndLocked(StatusOf(api_, comm_, result));
}

}  // namespace tandem::nccl
