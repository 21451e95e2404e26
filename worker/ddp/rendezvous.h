#pragma once

#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/ddp/membership.h"

namespace c10d {
class Store;
}

namespace tandem::ddp {

// Where the ranks of an attempt find each other: a key-value store that rank 0 serves. Roles are
// explicit (Host or Connect), never taken from the environment. Not thread-safe.
class Rendezvous {
 public:
  // Rank 0: listens on `address` (numeric, IPv4 or IPv6) at a port that the system chooses, and
  // serves the store there until destroyed. The port is held from here on: nobody else can get it
  // in between.
  //   InvalidArgument  `address` is not a numeric address, or the rank is not 0.
  //   Unavailable      `address` is not one of this host's.
  static absl::StatusOr<std::unique_ptr<Rendezvous>> Host(Membership self,
                                                          const std::string& address);

  // The other ranks: connects to the store of rank 0, waiting for it at most `timeout`.
  //   InvalidArgument     the rank is 0.
  //   DeadlineExceeded    nobody answered in time.
  //   Unavailable         the connection failed.
  //   FailedPrecondition  the store belongs to another job, attempt or world size.
  static absl::StatusOr<std::unique_ptr<Rendezvous>> Connect(Membership self,
                                                             const std::string& address,
                                                             uint16_t port, absl::Duration timeout);

  ~Rendezvous();

  // Checks this rank in and blocks until every rank of the attempt has. Once per rank.
  //   AlreadyExists     another process checked in as this rank.
  //   DeadlineExceeded  ranks are missing after `timeout`; names the first three.
  //   Unavailable       the store is gone.
  absl::Status AwaitAll(absl::Duration timeout);

  // Where the store listens.
  uint16_t port() const { return port_; }
  const Membership& membership() const { return self_; }

  // The attempt's own keys.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  Rendezvous(Membership self, uint16_t port, c10::intrusive_ptr<c10d::Store> store);

  const Membership self_;
  const uint16_t port_;
  const c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace tandem::ddp
