#include "server/core/attempt.h"

#include <algorithm>

#include "common/proto_time.h"

namespace tandem::core {

Attempt::Attempt(AttemptNumber number, const std::vector<Placement>& places,
                 const std::vector<Incarnation>& incarnations, const Options& options, Moment now)
    : number_(number),
      abort_timeout_(options.abort_timeout),
      pause_timeout_(options.pause_timeout),
      placed_(now.steady),
      deadline_(now.steady + options.prepare_timeout) {
  for (size_t rank = 0; rank < places.size(); ++rank) {
    RankState& state = ranks_.emplace_back();
    state.worker = places[rank].worker;
    state.record.set_incarnation(incarnations[rank].value());
  }
}

Attempt::Attempt(const v1::JobRecord& record, const Options& options, Moment now)
    : number_(record.job().attempt()),
      abort_timeout_(options.abort_timeout),
      pause_timeout_(options.pause_timeout),
      placed_(now.steady),
      deadline_(absl::InfiniteDuration()),
      state_(State::kRunning),
      start_(record.start()) {
  for (int rank = 0; rank < record.ranks_size(); ++rank) {
    RankState& state = ranks_.emplace_back();
    state.worker = WorkerName(record.job().ranks(rank).worker());
    state.record = record.ranks(rank);
  }
  WatchForHangs(HangTimeoutOf(record.job().spec()), now);
}

void Attempt::WriteTo(v1::JobRecord* record) const {
  for (const RankState& rank : ranks_) *record->add_ranks() = rank.record;
  // None before they were told: one that ends while it prepares has not got that far.
  if (start_.attempt() != 0) *record->mutable_start() = start_;
}

bool Attempt::SetRunning(const v1::Start& start, std::optional<absl::Duration> hang_timeout,
                         Moment now) {
  if (state_ != State::kPreparing) return false;
  state_ = State::kRunning;
  start_ = start;
  deadline_ = absl::InfiniteDuration();
  WatchForHangs(hang_timeout, now);
  return true;
}

bool Attempt::SetPausing(Moment now) {
  if (state_ != State::kRunning) return false;
  state_ = State::kPausing;
  deadline_ = now.steady + pause_timeout_;
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
  return state.worker == worker && !state.record.gone();
}

std::vector<Rank> Attempt::Present() const {
  std::vector<Rank> present;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].record.gone()) present.emplace_back(rank);
  }
  return present;
}

std::vector<Rank> Attempt::PresentOn(const WorkerName& worker) const {
  std::vector<Rank> present;
  for (const Rank rank : Present()) {
    if (ranks_[rank.value()].worker == worker) present.push_back(rank);
  }
  return present;
}

std::set<WorkerName> Attempt::Workers() const {
  std::set<WorkerName> workers;
  for (const Rank rank : Present()) workers.insert(ranks_[rank.value()].worker);
  return workers;
}

void Attempt::SetPrepared(Rank rank, const v1::Prepared& prepared) {
  ranks_[rank.value()].prepared = prepared;
}

std::vector<Rank> Attempt::Unprepared() const {
  std::vector<Rank> missing;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].prepared) missing.emplace_back(rank);
  }
  return missing;
}

std::optional<Rank> Attempt::BeginningElsewhere() const {
  for (uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].prepared->steps_done() != ranks_[0].prepared->steps_done()) return Rank(rank);
  }
  return std::nullopt;
}

void Attempt::SetFinished(Rank rank, const std::string& digest) {
  ranks_[rank.value()].record.set_digest(digest);
  if (state_ == State::kPausing) {
    state_ = State::kRunning;
    deadline_ = absl::InfiniteDuration();
  }
  if (hang_watch_) hang_watch_->Forget(rank);
}

bool Attempt::IsWindingUp() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const RankState& rank) { return rank.IsWindingUp(); });
}

bool Attempt::AllFinished() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const RankState& rank) { return rank.record.has_digest(); });
}

std::optional<Rank> Attempt::Deviating() const {
  for (uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].record.digest() != digest()) return Rank(rank);
  }
  return std::nullopt;
}

void Attempt::SetPaused(Rank rank, uint64_t step) {
  ranks_[rank.value()].record.set_paused_at(step);
  if (hang_watch_) hang_watch_->Forget(rank);
}

void Attempt::SetGone(Rank rank) {
  ranks_[rank.value()].record.set_gone(true);
  if (hang_watch_) hang_watch_->Forget(rank);
}

void Attempt::WatchForHangs(std::optional<absl::Duration> timeout, Moment now) {
  hang_watch_.emplace(static_cast<uint32_t>(ranks_.size()), timeout, now);
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].IsWindingUp()) hang_watch_->Forget(Rank(rank));
  }
}

Options OptionsFor(const v1::JobSpec& spec, Options options) {
  if (spec.has_command()) options.abort_timeout += FromProto(spec.command().stop_grace());
  return options;
}

std::optional<absl::Duration> HangTimeoutOf(const v1::JobSpec& spec) {
  // How long a step of a program may take is not known.
  if (spec.has_command() && !spec.has_hang_timeout()) return absl::InfiniteDuration();
  if (!spec.has_hang_timeout()) return std::nullopt;
  return FromProto(spec.hang_timeout());
}

}  // namespace tandem::core
