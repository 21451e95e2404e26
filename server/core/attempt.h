#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/options.h"
#include "server/core/scheduler.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::core {

// One try at running a job, from the placement of its ranks until the last of their processes is
// gone.
//
//   PREPARING --1--> RUNNING --2--> ENDING
//       |                              ^
//       +--------------2---------------+
//
//   1  SetRunning: every rank has loaded its model and data.
//   2  SetEnding:  a rank failed or was lost, time ran out, or a cancel was asked for.
//
// An attempt that succeeds is RUNNING until its last rank has exited. From any state it is over
// when AllGone, or at deadline() when ENDING.
//
// Ranks that are passed in must exist.
class Attempt {
 public:
  enum class State { kPreparing, kRunning, kEnding };

  Attempt(AttemptNumber number, const std::vector<Placement>& places, const Options& options,
          Moment now);

  AttemptNumber number() const { return number_; }
  State state() const { return state_; }
  // When it stops waiting, on the steady clock; for ever in RUNNING.
  absl::Duration deadline() const { return deadline_; }
  // Since its placement.
  absl::Duration Age(Moment now) const { return now.steady - placed_; }

  // False, and nothing changes, where the diagram has no such edge.
  bool SetRunning();
  bool SetEnding(Moment now);

  // Whether this rank was placed on this worker and its process may still be there. False also for
  // a rank that does not exist: safe with numbers from outside.
  bool Runs(Rank rank, const WorkerName& worker) const;
  // Ranks that are not gone, and their workers.
  std::vector<Rank> Present() const;
  std::set<WorkerName> Workers() const;

  void SetPrepared(Rank rank, const v1::Prepared& prepared);
  bool AllPrepared() const { return Unprepared().empty(); }
  std::vector<Rank> Unprepared() const;
  // What rank 0 announced.
  const v1::Prepared& meeting_point() const { return meeting_point_; }

  void SetFinished(Rank rank, const std::string& digest) { ranks_[rank.value()].digest = digest; }
  bool Finished(Rank rank) const { return ranks_[rank.value()].digest.has_value(); }
  bool AllFinished() const;
  // Rank 0's digest; it must have finished.
  const std::string& digest() const { return *ranks_[0].digest; }
  // The first rank that ended with another digest than rank 0. All must have finished.
  std::optional<Rank> Deviating() const;

  // It has said itself why it ends.
  void SetExplained(Rank rank) { ranks_[rank.value()].explained = true; }
  bool Explained(Rank rank) const { return ranks_[rank.value()].explained; }

  void SetGone(Rank rank) { ranks_[rank.value()].gone = true; }
  bool AllGone() const { return Present().empty(); }

 private:
  struct RankState {
    WorkerName worker;
    bool prepared = false;
    std::optional<std::string> digest;
    bool explained = false;
    bool gone = false;
  };

  AttemptNumber number_;
  absl::Duration abort_timeout_;
  absl::Duration placed_;
  absl::Duration deadline_;
  State state_ = State::kPreparing;
  v1::Prepared meeting_point_;
  std::vector<RankState> ranks_;
};

}  // namespace tandem::core
