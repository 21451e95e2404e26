#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/event.h"
#include "server/core/scheduler.h"
#include "tandem/v1/host.pb.h"
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

// An agent that is connected, or may still come back.
struct Worker {
  struct Slot {
    std::string name;
    // What its agent knows of it; nothing of kind "cpu".
    v1::DeviceFacts device;
    // Whose process runs on it, also after its attempt was given up.
    std::optional<RankId> occupant;
  };
  WorkerName name;
  Incarnation incarnation;
  // Unset while its connection is broken.
  std::optional<ConnectionId> connection;
  // Number of the last message that was heard of it.
  uint64_t sequence = 0;
  std::string host;
  std::string advertise_address;
  std::string version;
  bool allows_commands = false;
  std::vector<Slot> slots;
  // What it last said about its host on this connection, and when; empty: nothing yet.
  std::optional<v1::HostFacts> host_facts;
  absl::Time host_facts_heard;
  absl::Time connected_at;
  // When it was last heard of, on the steady clock.
  absl::Duration heard;

  bool IsIdle() const;
};

// Whether an agent can be taken in.
//   FailedPrecondition  it speaks another protocol version.
//   InvalidArgument     a name or address is missing; it has no slots, or one twice;
//                       two running ranks share a slot.
absl::Status CheckRegistration(const v1::Register& registration);

// The workers and who runs on their slots. A slot runs one rank, always.
class Cluster {
 public:
  // nullptr: not known, or lost.
  const Worker* Find(const WorkerName& name) const;
  const std::map<WorkerName, Worker>& workers() const { return workers_; }

  //   AlreadyExists  another connected worker offers one of its devices, perhaps under another number.
  absl::Status CheckDevices(const v1::Register& registration) const;
  // Takes in a worker that CheckRegistration accepts, with what it still runs. Replaces what was known of it.
  void Connect(const v1::Register& registration, ConnectionId connection, Moment now);
  // Its connection broke; it may come back.
  void Disconnect(const WorkerName& name);
  // A worker that an earlier coordinator knew, with one of the ranks that it ran there: it may come back.
  void Expect(const WorkerName& name, const Incarnation& incarnation, const std::string& slot,
              const RankId& rank, Moment now);
  // Returns who ran on it.
  std::vector<RankId> Remove(const WorkerName& name);

  // Whether nothing more is to be started on it.
  bool IsDraining(const WorkerName& name) const { return draining_.contains(name); }
  void SetDraining(const WorkerName& name, bool draining);

  // Renews the lease. False: this is not its connection.
  bool Hear(const WorkerName& name, ConnectionId connection, Moment now);
  // Of a worker that is known: what its host has.
  void NoteHost(const WorkerName& name, const v1::HostFacts& facts, Moment now);
  // Whether a message with this number is the next one; notes it then.
  enum class Order { kNext, kRepeated, kGap };
  Order Take(const WorkerName& name, uint64_t sequence);
  // Renews every lease: it was we who could not hear.
  void HearAll(Moment now);
  // Those not heard of since `deadline`, a reading of the steady clock.
  std::vector<WorkerName> SilentSince(absl::Duration deadline) const;

  // The slot must be free.
  void Occupy(const Placement& place, const RankId& rank);
  // False: it does not run there, as when it has been freed before.
  bool Free(const WorkerName& name, const RankId& rank);

  // Of connected workers that are not being drained, each kind of slot apart.
  std::vector<WorkerSlots> Slots() const;
  // How many slots of each kind the other workers have, which may be there again later.
  std::map<std::string, uint32_t> SlotsAway() const;

  // As clients see it. It must be known.
  v1::Worker ViewOf(const WorkerName& name) const;
  // Of the connected workers, by name.
  std::vector<v1::WorkerHost> Hosts() const;

 private:
  std::map<WorkerName, Worker> workers_;
  // Known or not.
  std::set<WorkerName> draining_;
};

}  // namespace tandem::core
