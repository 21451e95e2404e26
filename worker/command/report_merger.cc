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
  if (!first_report_.has_value()) first_report_ = now;
  // Programs that know the loss over all ranks may report it from each of them.
  if (report.combined()) combined_ = std::max(combined_, step);
  if (step > taken_) waiting_[step][rank] = report;
  if (step > taken_ || step <= combined_) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("rank ", rank, " reported step ", step,
                                            " when it was counted without this rank"));
}

std::vector<v1::StepSample> ReportMerger::Take(absl::Duration now) {
  std::vector<v1::StepSample> samples;
  while (!waiting_.empty() && IsComplete(waiting_.begin()->first, now)) {
    const auto first = waiting_.begin();
    taken_ = first->first;
    samples.push_back(SampleOf(taken_, first->second));
    waiting_.erase(first);
  }
  return samples;
}

bool ReportMerger::IsComplete(uint64_t step, absl::Duration now) const {
  if (step <= combined_) return true;
  const bool out_of_patience = first_report_.has_value() && now >= *first_report_ + kPatience;
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const RankState& rank) {
    return rank.has_ended || rank.last_step >= step || (rank.last_step == 0 && out_of_patience);
  });
}

std::optional<absl::Duration> ReportMerger::deadline() const {
  if (!first_report_.has_value() || combined_ > 0 || Silent().empty()) return std::nullopt;
  return *first_report_ + kPatience;
}

std::vector<uint32_t> ReportMerger::Silent() const {
  std::vector<uint32_t> silent;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].has_ended && ranks_[rank].last_step == 0) silent.push_back(rank);
  }
  return silent;
}

}  // namespace tandem::command
