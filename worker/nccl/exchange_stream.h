#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/device/device.h"
#include "worker/nccl/exchange_calls.h"
#include "worker/nccl/nccl_communicator.h"
#include "worker/nccl/staging.h"

namespace tandem::nccl {

// What one exchange does, and how far it is.
struct StreamExchange {
  std::vector<Staging::Buffer> inputs;
  std::vector<Staging::Buffer> outputs;  // also what is changed in place
  ExchangeCalls calls;

  // What it begins after.
  std::vector<std::unique_ptr<device::Event>> after;
  bool launched = false;
  std::unique_ptr<device::Event> over;  // null: it is not yet whole in the stream
};

// The stream in which a communicator's exchanges take place, in the order in which they were started.
// NCCL launches them one by one, in a thread of its own; those behind wait in a queue, which every call
// moves on. That takes microseconds and no peer, except for the first of a kind, which connects. One
// thread at a time.
class ExchangeStream {
 public:
  // How long Start may wait for launches.
  static constexpr absl::Duration kLaunching = absl::Microseconds(500);
  struct Timeouts {
    absl::Duration exchange;  // silence within one
    absl::Duration ending;    // for the device to let go of what was ended; then it is given up
  };

  ExchangeStream(device::Device& device ABSL_ATTRIBUTE_LIFETIME_BOUND,
                 NcclCommunicator& communicator ABSL_ATTRIBUTE_LIFETIME_BOUND,
                 Staging& staging ABSL_ATTRIBUTE_LIFETIME_BOUND,
                 std::unique_ptr<device::Stream> stream, const Timeouts& timeouts)
      : device_(device),
        communicator_(communicator),
        staging_(staging),
        stream_(std::move(stream)),
        timeouts_(timeouts) {}

  // The exchange begins after what is in the compute stream now, if it uses the device's own buffers,
  // and after what was copied in. It stays where it is until Await or End has returned. On return it is
  // launched, with all before it, unless NCCL takes longer than kLaunching: never waits for a peer.
  absl::Status Start(StreamExchange& exchange);
  // Until it is over, and outputs are where the caller wants them. Errors as Transport: afterwards
  // everything has ended.
  absl::Status Await(StreamExchange& exchange);
  // Ends the communicator; on return the device has let go of all buffers, unless it hangs. Returns the
  // cause of the end.
  absl::Status End(absl::Status cause);

  // Whether NCCL or the device did not let go in time. They may go on for good: neither this, nor the
  // staging, nor the communicator may then be used again, or be destroyed.
  bool hangs() const { return hangs_ || communicator_.hangs(); }

 private:
  absl::Status AwaitEvent(const StreamExchange& exchange);
  absl::StatusOr<bool> IsOver(const StreamExchange& exchange);
  absl::Status Advance();  // as far as it goes without waiting
  absl::Status MoveOn();   // until the queue is empty, for a moment
  absl::Status Launch(StreamExchange& exchange);
  absl::Status BeginAfter(device::Stream& other, StreamExchange& exchange);
  absl::Status CopyOut(const StreamExchange& exchange);
  // Whether the stream ends what is in it.
  bool LetsGo(device::Stream& stream);
  // Until the stream has done what is in it.
  absl::Status Idle(device::Stream& stream, absl::Duration timeout);

  device::Device& device_;
  NcclCommunicator& communicator_;
  Staging& staging_;
  const std::unique_ptr<device::Stream> stream_;
  const Timeouts timeouts_;
  bool hangs_ = false;
  std::deque<StreamExchange*> queue_;  // those that are not yet whole in the stream
};

}  // namespace tandem::nccl
