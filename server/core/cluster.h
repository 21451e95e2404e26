#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/event.h"
#include "server/core/scheduler.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::core {

// One process, for ever: attempt numbers are not used again.
struct RankId {
  JobId job;
  AttemptNumber attempt;
  Rank rank;
  friend auto operator<=>(const RankId&, const RankId&) = default;
};

// A connected agent.
struct Worker {
  struct Slot {
    std::string name;
    // Whose process runs on it, also after its attempt was given up.
    std::optional<RankId> occupant;
  };
  WorkerName name;
  Incarnation incarnation;
  ConnectionId connection;
  std::string host;
  std::string advertise_address;
  std::string version;
  std::vector<Slot> slots;
  absl::Time connected_at;
  // When it was last heard of, on the steady clock.
  absl::Duration heard;
};

// Whether an agent can be taken in.
//   FailedPrecondition  it speaks another protocol version.
//   InvalidArgument     a name or address is missing; it has no slots, or one twice;
//                       two running ranks share a slot.
absl::Status CheckRegistration(const v1::Register& registration);

// The connected workers and who runs on their slots. A slot runs one rank, always.
class Cluster {
 public:
  // nullptr: not connected.
  const Worker* Find(const WorkerName& name) const;
  const std::map<WorkerName, Worker>& workers() const { return workers_; }

  // Takes in a worker that CheckRegistration accepts and that is not connected, with what it still
  // runs.
  void Connect(const v1::Register& registration, ConnectionId connection, Moment now);
  // Returns who ran on it.
  std::vector<RankId> Remove(const WorkerName& name);

  // Renews the lease. False: this incarnation is not connected.
  bool Hear(const WorkerName& name, const Incarnation& incarnation, Moment now);
  // Those not heard of since `deadline`, a reading of the steady clock.
  std::vector<WorkerName> SilentSince(absl::Duration deadline) const;

  // The slot must be free.
  void Occupy(const Placement& place, const RankId& rank);
  // False: it does not run there, as when it has been freed before.
  bool Free(const WorkerName& name, const RankId& rank);

  std::vector<WorkerSlots> Slots() const;

 private:
  std::map<WorkerName, Worker> workers_;
};

// As clients see it.
v1::Worker ViewOf(const Worker& worker);

}  // namespace tandem::core
