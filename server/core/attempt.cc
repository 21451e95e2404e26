#include "server/core/attempt.h"

#include <algorithm>

namespace tandem::core {

Attempt::Attempt(AttemptNumber number, const std::vector<Placement>& places, const Options& options,
                 Moment now)
    : number_(number),
      abort_timeout_(options.abort_timeout),
      placed_(now.steady),
      deadline_(now.steady + options.prepare_timeout) {
  for (const Placement& place : places) ranks_.emplace_back().worker = place.worker;
}

bool Attempt::SetRunning() {
  if (state_ != State::kPreparing) return false;
  state_ = State::kRunning;
  deadline_ = absl::InfiniteDuration();
  return true;
}

bool Attempt::SetEnding(Moment now) {
  if (state_ == State::kEnding) return false;
  state_ = State::kEnding;
  deadline_ = now.steady + abort_timeout_;
  return true;
}

bool Attempt::Runs(Rank rank, const WorkerName& worker) const {
  if (rank.value() >= ranks_.size()) return false;
  const RankState& state = ranks_[rank.value()];
  return state.worker == worker && !state.gone;
}

std::vector<Rank> Attempt::Present() const {
  std::vector<Rank> present;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].gone) present.emplace_back(rank);
  }
  return present;
}

std::set<WorkerName> Attempt::Workers() const {
  std::set<WorkerName> workers;
  for (const RankState& rank : ranks_) {
    if (!rank.gone) workers.insert(rank.worker);
  }
  return workers;
}

void Attempt::SetPrepared(Rank rank, const v1::Prepared& prepared) {
  ranks_[rank.value()].prepared = true;
  if (rank == Rank(0)) meeting_point_ = prepared;
}

std::vector<Rank> Attempt::Unprepared() const {
  std::vector<Rank> missing;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].prepared) missing.emplace_back(rank);
  }
  return missing;
}

bool Attempt::AllFinished() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const RankState& rank) { return rank.digest.has_value(); });
}

std::optional<Rank> Attempt::Deviating() const {
  for (uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].digest != ranks_[0].digest) return Rank(rank);
  }
  return std::nullopt;
}

}  // namespace tandem::core
