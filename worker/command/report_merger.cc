#include "worker/command/report_merger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tandem::command {
namespace {

v1::StepSample Sum(uint64_t step, const std::map<uint32_t, v1::StepReport>& reports) {
  v1::StepSample sample;
  sample.set_step(step);
  uint64_t digest = 0;
  bool all_digests_known = true;
  for (const auto& [rank, report] : reports) {
    sample.set_loss_sum(sample.loss_sum() + report.loss_sum());
    sample.set_count(sample.count() + report.count());
    sample.set_epoch(std::max<uint64_t>(sample.epoch(), report.epoch()));
    if (sample.learning_rate() == 0) sample.set_learning_rate(report.learning_rate());
    digest += report.samples_digest();
    all_digests_known = all_digests_known && report.has_samples_digest();
  }
  if (all_digests_known) sample.set_samples_digest(digest);
  return sample;
}

v1::StepSample SampleOf(uint64_t step, const std::map<uint32_t, v1::StepReport>& reports) {
  for (const auto& [rank, report] : reports) {
    if (report.combined()) return Sum(step, {{rank, report}});
  }
  return Sum(step, reports);
}

}  // namespace

absl::Status ReportMerger::Add(uint32_t rank, const v1::StepReport& report, absl::Duration now) {
  RankState& state = ranks_[rank];
  const uint64_t step = report.step();
  if (step <= state.last_step) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " reported step ", step,
                                                   " after step ", state.last_step,
                                                   "; each step is reported once, in order"));
  }
  state.last_step = step;
  state.last_report = now;
  // Programs that know the loss over all ranks may report it from each of them.
  combines_ = combines_ || report.combined();
  if (step > taken_) {
    state.is_given_up = false;
    Step& waiting = waiting_.try_emplace(step, Step{.first_report = now}).first->second;
    waiting.reports[rank] = report;
    waiting.is_combined = waiting.is_combined || report.combined();
  }
  if (step > taken_ || combines_) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("rank ", rank, " reported step ", step,
                                            " when it was counted without this rank"));
}

std::vector<v1::StepSample> ReportMerger::Take(absl::Duration now) {
  std::vector<v1::StepSample> samples;
  do {
    TakeComplete(&samples);
  } while (GiveUp(now));
  return samples;
}

void ReportMerger::TakeComplete(std::vector<v1::StepSample>* samples) {
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const bool is_complete = IsComplete(first->first, first->second);
    if (!is_complete && waiting_.size() <= kMaxWaiting) return;
    if (!is_complete) has_overflowed_ = true;
    taken_ = first->first;
    samples->push_back(SampleOf(taken_, first->second.reports));
    waiting_.erase(first);
  }
}

bool ReportMerger::IsComplete(uint64_t number, const Step& step) const {
  return step.is_combined ||
         std::all_of(ranks_.begin(), ranks_.end(), [number](const RankState& rank) {
           return rank.has_ended || rank.is_given_up || rank.last_step >= number;
         });
}

std::optional<absl::Duration> ReportMerger::GivenUpAt(const RankState& rank) const {
  if (rank.has_ended || rank.is_given_up) return std::nullopt;
  auto missing = waiting_.upper_bound(rank.last_step);
  while (missing != waiting_.end() && missing->second.is_combined) ++missing;
  if (missing == waiting_.end()) return std::nullopt;
  // Counted in reports: a program may report one step in many.
  if (rank.last_step > 0) {
    auto ahead = missing;
    for (size_t i = 1; i < kFarAhead; ++i) {
      if (++ahead == waiting_.end()) return std::nullopt;
    }
  }
  return std::max(rank.last_report, missing->second.first_report) + kPatience;
}

bool ReportMerger::GiveUp(absl::Duration now) {
  const size_t before = given_up_.size();
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::optional<absl::Duration> at = GivenUpAt(ranks_[rank]);
    if (!at.has_value() || now < *at) continue;
    ranks_[rank].is_given_up = true;
    given_up_.push_back(rank);
  }
  return given_up_.size() > before;
}

std::optional<absl::Duration> ReportMerger::deadline() const {
  std::optional<absl::Duration> first;
  for (const RankState& rank : ranks_) {
    const std::optional<absl::Duration> at = GivenUpAt(rank);
    if (at.has_value()) first = std::min(first.value_or(*at), *at);
  }
  return first;
}

}  // namespace tandem::command
