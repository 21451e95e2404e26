#pragma once

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/ddp/membership.h"
#include "worker/nccl/nccl_library.h"

namespace tandem::nccl {

// One of NCCL's communicators, made so that none of its functions blocks: what takes its time is asked
// after. No two threads are ever inside of it. It has one end, with one cause, the first: from then on
// every call returns that, and what was under way on the device has been told to stop.
//
//   new --Connect--> connected --Finish--> (gone)
//    |                  |
//    +------------------+--- an error, End ---> ended: every call returns the cause
//
// Calls come from one thread at a time, but for End.
class NcclCommunicator {
 public:
  using Calls = absl::FunctionRef<NcclResult(const NcclApi&, NcclComm*)>;

  // `ending_timeout`: for its end within NCCL, which is not told how long it may take.
  NcclCommunicator(const NcclLibrary& library ABSL_ATTRIBUTE_LIFETIME_BOUND,
                   absl::Duration ending_timeout)
      : api_(library.api()), ending_timeout_(ending_timeout) {}
  // Ends it, unless it is finished.
  ~NcclCommunicator();

  // Collective; once. The device is that of the calling thread. Errors as ConnectNccl, besides
  // Cancelled after End.
  absl::Status Connect(const ddp::Membership& self, const NcclUniqueId& id, absl::Duration timeout);

  // Whether all that was launched is in its stream; does not block. After a launch nothing can be
  // launched until it is. An error may also be one of what runs on the device: as StatusOf.
  absl::StatusOr<bool> Ready() ABSL_LOCKS_EXCLUDED(mutex_);

  // While it is ready: makes `calls`, which put work into a stream. Errors as StatusOf.
  absl::Status Launch(Calls calls) ABSL_LOCKS_EXCLUDED(mutex_);

  // OK until its end, then the cause.
  absl::Status Cause() ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes leave of the other ranks, as all of them do, once nothing is under way. No error is told, as
  // there is nothing left to do: what is not over in time is ended.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

  // Any thread. Returns the cause of the end, which is `cause` unless there was one before.
  absl::Status End(absl::Status cause) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether NCCL hangs in that end: the device may go on with what was under way.
  bool hangs() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status EndLocked(absl::Status cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the communicator to `release`, which does not return before it is gone, if it returns.
  void Release(decltype(NcclApi::comm_abort) release) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK, or what an end came of.
  absl::Status After(NcclResult result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const NcclApi& api_;
  const absl::Duration ending_timeout_;

  absl::Mutex mutex_;  // whoever is inside
  NcclComm* comm_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // OK: there was none
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tandem::nccl
