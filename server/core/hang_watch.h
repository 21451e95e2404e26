#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::core {

// Finds the rank that keeps the others of a running attempt waiting. Liveness is progress: a rank whose step and
// phase do not change for longer than the phase may take is hung, whatever its agent's heartbeats say. A rank in
// PHASE_REDUCE waits for others; it is never the one blamed while another has not arrived there. In PHASE_COMMAND one
// that is ahead of another one waits.
class HangWatch {
 public:
  // How long a phase may take where nothing else is known.
  static constexpr absl::Duration kDefaultTimeout = absl::Seconds(30);
  // Evaluating and saving may take this many times as long as another phase.
  static constexpr int kSlowPhases = 10;
  // A phase may take this many times the slowest step so far.
  static constexpr int kSteps = 20;

  // `timeout`: JobSpec.hang_timeout, if it was given. Then it is that, whatever a step takes.
  HangWatch(uint32_t world_size, std::optional<absl::Duration> timeout, Moment now);

  // A rank's position, as its agent saw it.
  void Observe(Rank rank, const v1::RankPosition& position, Moment now);
  // The rank is gone or has finished: it is neither waited for nor blamed.
  void Forget(Rank rank);
  // Nothing could be heard of these ranks for a while (a broken connection): their clocks begin anew.
  void Excuse(Rank rank, Moment now);

  // How long this phase may take now.
  absl::Duration Deadline(v1::Phase phase) const;

  // The hung rank as a cause of code HUNG: rank, step and phase, what its process does, who waits for it. Attempt
  // number and time are left out.
  std::optional<v1::Cause> Check(Moment now) const;

 private:
  struct RankState {
    // Without a phase until the first one is observed.
    v1::RankPosition position;
    // When step or phase changed last, and the CPU time that the process had used by then.
    absl::Duration moved;
    absl::Duration cpu_time_then;
    // When the step changed last.
    absl::Duration stepped;
    // It was seen evaluating or saving since then: such a step says nothing about the others.
    bool slow = false;
    bool gone = false;
  };

  std::optional<uint32_t> Hung(Moment now) const;
  bool Waits(uint32_t rank) const;
  bool IsBehind(uint32_t a, uint32_t b) const;
  std::optional<uint32_t> FurthestBehind() const;
  std::vector<uint32_t> Waiting(uint32_t for_rank) const;
  void AppendPeers(uint32_t hung, std::string* message) const;
  std::string WhatItDoes(const RankState& state, Moment now) const;

  std::vector<RankState> ranks_;
  std::optional<absl::Duration> timeout_;
  absl::Duration slowest_step_;
};

}  // namespace tandem::core
