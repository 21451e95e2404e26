#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/hang_watch.h"
#include "server/core/options.h"
#include "server/core/scheduler.h"
#include "tandem/v1/journal.pb.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::core {

// One try at running a job, from the placement of its ranks until the last of their processes is
// gone.
//
//   PREPARING --1--> RUNNING --2--> PAUSING --3--> ENDING
//       |             |   ^            |             ^
//       |             |   +-----4------+             |
//       +------3------+-------------3----------------+
//
//   1  SetRunning: every rank has loaded its model and data.
//   2  SetPausing: the ranks are to save and stop, so that the job goes on elsewhere.
//   3  SetEnding:  a rank failed or was lost, time ran out, or a cancel was asked for.
//   4  SetFinished: it was at its last step.
//
// An attempt that succeeds is RUNNING, and one that pauses PAUSING, until its last rank has exited. From
// any state it is over when AllGone, or at deadline() when ENDING.
//
// Ranks that are passed in must exist.
class Attempt {
 public:
  enum class State { kPreparing, kRunning, kPausing, kEnding };

  Attempt(AttemptNumber number, const std::vector<Placement>& places,
          const std::vector<Incarnation>& incarnations, const Options& options, Moment now);
  // One that an earlier coordinator has started, as it was when its record was written: RUNNING.
  Attempt(const v1::JobRecord& record, const Options& options, Moment now);

  AttemptNumber number() const { return number_; }
  State state() const { return state_; }
  // Its ranks have been told to train, and not to end.
  bool Trains() const { return state_ == State::kRunning || state_ == State::kPausing; }
  // A rank has finished, paused or gone: the others soon will too, and there is nothing left to pause.
  bool IsWindingUp() const;
  // When it stops waiting, on the steady clock; for ever in RUNNING.
  absl::Duration deadline() const { return deadline_; }
  absl::Duration placed() const { return placed_; }
  // Since its placement.
  absl::Duration Age(Moment now) const { return now.steady - placed_; }
  // What it adds to the job's record.
  void WriteTo(v1::JobRecord* record) const;

  // False, and nothing changes, where the diagram has no such edge. SetRunning: the ranks are told `start`.
  bool SetRunning(const v1::Start& start, std::optional<absl::Duration> hang_timeout, Moment now);
  bool SetPausing(Moment now);
  bool SetEnding(Moment now);

  // Of the agent that it was given to.
  Incarnation incarnation(Rank rank) const {
    return Incarnation(ranks_[rank.value()].record.incarnation());
  }
  // Whether this rank was placed on this worker and its process may still be there. False also for
  // a rank that does not exist: safe with numbers from outside.
  bool Runs(Rank rank, const WorkerName& worker) const;
  // Ranks that are not gone, all or of one worker, and their workers.
  std::vector<Rank> Present() const;
  std::vector<Rank> PresentOn(const WorkerName& worker) const;
  std::set<WorkerName> Workers() const;

  void SetPrepared(Rank rank, const v1::Prepared& prepared);
  bool AllPrepared() const { return Unprepared().empty(); }
  std::vector<Rank> Unprepared() const;
  // What the rank announced; it has prepared.
  const v1::Prepared& prepared(Rank rank) const { return *ranks_[rank.value()].prepared; }
  // The first rank that goes on from another step than rank 0. All have prepared.
  std::optional<Rank> BeginningElsewhere() const;
  // What the ranks were told when they had all prepared.
  const v1::Start& start() const { return start_; }

  // One that was to pause finishes instead, and takes the time it needs.
  void SetFinished(Rank rank, const std::string& digest);
  bool Finished(Rank rank) const { return ranks_[rank.value()].record.has_digest(); }
  bool AllFinished() const;
  // Rank 0's digest; it must have finished.
  const std::string& digest() const { return ranks_[0].record.digest(); }
  // The first rank that ended with another digest than rank 0. All must have finished.
  std::optional<Rank> Deviating() const;

  void SetPaused(Rank rank, uint64_t step);
  bool Paused(Rank rank) const { return ranks_[rank.value()].record.has_paused_at(); }
  // Nothing is left for it to do but to exit.
  bool Done(Rank rank) const { return Finished(rank) || Paused(rank); }

  // It has said itself why it ends.
  void SetExplained(Rank rank) { ranks_[rank.value()].record.set_explained(true); }
  bool Explained(Rank rank) const { return ranks_[rank.value()].record.explained(); }

  void SetGone(Rank rank);
  bool AllGone() const { return Present().empty(); }

  // Where its ranks are; nullptr until they train.
  HangWatch* hang_watch() { return hang_watch_ ? &*hang_watch_ : nullptr; }

 private:
  struct RankState {
    WorkerName worker;
    std::optional<v1::Prepared> prepared;
    v1::RankRecord record;

    bool IsWindingUp() const {
      return record.gone() || record.has_digest() || record.has_paused_at();
    }
  };

  void WatchForHangs(std::optional<absl::Duration> timeout, Moment now);

  AttemptNumber number_;
  absl::Duration abort_timeout_;
  absl::Duration pause_timeout_;
  absl::Duration placed_;
  absl::Duration deadline_;
  State state_ = State::kPreparing;
  v1::Start start_;
  std::vector<RankState> ranks_;
  std::optional<HangWatch> hang_watch_;
};

// What applies to an attempt at this job: to be aborted, a `command` has the time of its own `stop_grace` besides.
Options OptionsFor(const v1::JobSpec& spec, Options options);

// JobSpec.hang_timeout, if it was given; without it, for ever for a `command`.
std::optional<absl::Duration> HangTimeoutOf(const v1::JobSpec& spec);

}  // namespace tandem::core
