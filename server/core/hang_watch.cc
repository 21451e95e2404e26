#include "server/core/hang_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "server/core/cause.h"
#include "server/core/join_few.h"

namespace tandem::core {
namespace {

// Of the time that it did not move: what a process uses whose threads compute while its first one waits.
constexpr double kBusy = 0.5;

bool IsSlow(v1::Phase phase) {
  return phase == v1::PHASE_EVALUATE || phase == v1::PHASE_CHECKPOINT;
}

bool IsStuckInTheKernel(v1::ProcessState state) {
  return state == v1::PROCESS_STATE_STOPPED || state == v1::PROCESS_STATE_BLOCKED;
}

std::string WhileItSleeps(v1::Phase phase) {
  switch (phase) {
    case v1::PHASE_DATA:
      return "its process sleeps, as in a deadlock of the data loader";
    case v1::PHASE_CHECKPOINT:
      return "its process sleeps, as on a file system that does not answer";
    default:
      return "its process sleeps, as in a deadlock";
  }
}

}  // namespace

HangWatch::HangWatch(uint32_t world_size, std::optional<absl::Duration> timeout, Moment now)
    : ranks_(world_size), timeout_(timeout) {
  for (RankState& rank : ranks_) rank.moved = rank.stepped = now.steady;
}

void HangWatch::Observe(Rank rank, const v1::RankPosition& position, Moment now) {
  RankState& state = ranks_[rank.value()];
  const bool is_known = state.position.phase() != v1::PHASE_UNSPECIFIED;
  const bool steps = position.step() != state.position.step();
  if (is_known && steps) {
    if (!state.slow) slowest_step_ = std::max(slowest_step_, now.steady - state.stepped);
    state.stepped = now.steady;
    state.slow = false;
  }
  state.slow = state.slow || IsSlow(position.phase());
  if (!is_known || steps || position.phase() != state.position.phase()) {
    state.moved = now.steady;
    state.cpu_time_then = FromProto(position.cpu_time());
  }
  state.position = position;
}

void HangWatch::Forget(Rank rank) { ranks_[rank.value()].gone = true; }

void HangWatch::Excuse(Rank rank, Moment now) {
  RankState& state = ranks_[rank.value()];
  state.moved = state.stepped = now.steady;
  state.cpu_time_then = FromProto(state.position.cpu_time());
  state.slow = true;  // How long this step took is not known.
}

absl::Duration HangWatch::Deadline(v1::Phase phase) const {
  const absl::Duration usual =
      timeout_ ? *timeout_ : std::max(kDefaultTimeout, kSteps * slowest_step_);
  return IsSlow(phase) ? kSlowPhases * usual : usual;
}

std::optional<uint32_t> HangWatch::Hung(Moment now) const {
  std::optional<uint32_t> hung;
  bool all_wait = true, all_late = true;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankState& state = ranks_[rank];
    if (state.gone) continue;
    if (state.position.phase() == v1::PHASE_UNSPECIFIED) {  // Not heard of yet.
      all_wait = false;
      continue;
    }
    const bool late = now.steady - state.moved >= Deadline(state.position.phase());
    all_late = all_late && late;
    if (Waits(rank)) continue;
    all_wait = false;
    if (late && (!hung || IsBehind(rank, *hung))) hung = rank;
  }
  if (hung || !all_wait || !all_late) return hung;
  return FurthestBehind();
}

bool HangWatch::Waits(uint32_t rank) const {
  const v1::RankPosition& position = ranks_[rank].position;
  // Whoever waits for others is blamed only for what it cannot help: it could not even run on.
  if (IsStuckInTheKernel(position.process())) return false;
  // One that has finished may have to stay until the others have.
  if (position.phase() == v1::PHASE_REDUCE || position.phase() == v1::PHASE_DONE) return true;
  if (position.phase() != v1::PHASE_COMMAND) return false;
  return std::any_of(ranks_.begin(), ranks_.end(), [&](const RankState& other) {
    const bool reports = !other.gone && other.position.phase() == v1::PHASE_COMMAND;
    return reports && other.position.step() < position.step();
  });
}

bool HangWatch::IsBehind(uint32_t a, uint32_t b) const {
  const uint64_t step_a = ranks_[a].position.step(), step_b = ranks_[b].position.step();
  return step_a != step_b ? step_a < step_b : ranks_[a].moved < ranks_[b].moved;
}

std::optional<uint32_t> HangWatch::FurthestBehind() const {
  std::optional<uint32_t> last;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].gone && (!last || IsBehind(rank, *last))) last = rank;
  }
  return last;
}

std::vector<uint32_t> HangWatch::Waiting(uint32_t for_rank) const {
  std::vector<uint32_t> waiting;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (rank != for_rank && !ranks_[rank].gone && Waits(rank)) waiting.push_back(rank);
  }
  return waiting;
}

std::string HangWatch::WhatItDoes(const RankState& state, Moment now) const {
  const absl::Duration used = FromProto(state.position.cpu_time()) - state.cpu_time_then;
  // On a crowded host a loop may get little of a core; it is runnable all the same. Its threads may be the ones that
  // compute.
  const bool busy = state.position.process() == v1::PROCESS_STATE_RUNNING ||
                    used > kBusy * (now.steady - state.moved);
  switch (state.position.process()) {
    case v1::PROCESS_STATE_STOPPED:
      return "its process is stopped, as by SIGSTOP or a debugger";
    case v1::PROCESS_STATE_BLOCKED:
      return "its process waits for a disk or another device that does not answer";
    case v1::PROCESS_STATE_RUNNING:
    case v1::PROCESS_STATE_SLEEPING:
      if (busy) return "its process computes all the time, as in an endless loop";
      return state.position.phase() == v1::PHASE_REDUCE ? "all ranks wait for each other"
                                                        : WhileItSleeps(state.position.phase());
    default:
      return "what its process does is not known";
  }
}

// Which rank of a program waits for which is not known of those that have come equally far, or do not report.
void HangWatch::AppendPeers(uint32_t hung, std::string* message) const {
  std::vector<uint32_t> peers, silent;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const v1::RankPosition& position = ranks_[rank].position;
    if (rank == hung || ranks_[rank].gone) continue;
    const bool same =
        position.phase() == v1::PHASE_COMMAND && position.step() == ranks_[hung].position.step();
    if (same) peers.push_back(rank);
    if (position.phase() == v1::PHASE_UNSPECIFIED) silent.push_back(rank);
  }
  const auto name = [](uint32_t rank) { return absl::StrCat("rank ", rank); };
  if (!peers.empty()) absl::StrAppend(message, "; no further: ", JoinFew(peers, name));
  if (!silent.empty()) absl::StrAppend(message, "; without a report: ", JoinFew(silent, name));
}

std::optional<v1::Cause> HangWatch::Check(Moment now) const {
  const std::optional<uint32_t> hung = Hung(now);
  if (!hung) return std::nullopt;
  const RankState& state = ranks_[*hung];
  const absl::Duration still = absl::Trunc(now.steady - state.moved, absl::Milliseconds(100));
  v1::Cause cause;
  cause.set_code(v1::CAUSE_CODE_HUNG);
  cause.set_rank(*hung);
  cause.set_step(state.position.step());
  cause.set_phase(state.position.phase());
  std::string message = absl::StrCat(
      "rank ", *hung, " of ", ranks_.size(), " has not moved for ", absl::FormatDuration(still),
      " ", Where(state.position.step(), state.position.phase()), ": ", WhatItDoes(state, now));
  if (state.position.phase() == v1::PHASE_COMMAND) AppendPeers(*hung, &message);
  const std::vector<uint32_t> waiting = Waiting(*hung);
  if (!waiting.empty()) {
    const std::string names =
        JoinFew(waiting, [](uint32_t rank) { return absl::StrCat("rank ", rank); });
    absl::StrAppend(&message, "; ", names, waiting.size() == 1 ? " waits" : " wait", " for it");
  }
  cause.set_message(std::move(message));
  return cause;
}

}  // namespace tandem::core
