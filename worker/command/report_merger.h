#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/report.pb.h"

namespace tandem::command {

// Makes one loss a step out of what the ranks report, each of its own samples: sums and counts are added, in
// the order of ranks, so that the mean is right for shares of any size and the same whoever is faster.
//
// A step is complete when every rank has reported it, or a later one, or has ended, or is given up on. A rank
// that never reports anything is given up on after a while; one that has reported, only when the others are
// far ahead besides, since it may be slow in one step (ranks that train together cannot be far apart). It is
// waited for again once it has caught up. A report that is over all ranks already completes its own step.
class ReportMerger {
 public:
  // Without any report of a rank since the first that others made of a step that it has not come to.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  // Reports that others are ahead of a rank that is given up on, though it has reported before.
  static constexpr size_t kFarAhead = 100;
  // Steps that may wait. Beyond, the first is taken as it is.
  static constexpr size_t kMaxWaiting = 100'000;

  explicit ReportMerger(uint32_t world_size) : ranks_(world_size) {}

  // Times are of one steady clock.
  //   InvalidArgument  the rank had reported this step or a later one.
  //   OutOfRange       the step was counted without this rank.
  absl::Status Add(uint32_t rank, const v1::StepReport& report, absl::Duration now);
  // The rank will report nothing more.
  void End(uint32_t rank) { ranks_[rank].has_ended = true; }

  // Steps that have become complete, in order.
  std::vector<v1::StepSample> Take(absl::Duration now);

  // When Take gives up on a rank; unset where it does not, as it stands.
  std::optional<absl::Duration> deadline() const;
  // Ranks that were given up on since this was last called.
  std::vector<uint32_t> TakeGivenUp() { return std::exchange(given_up_, {}); }
  // Whether a step was taken as it is, ever.
  bool has_overflowed() const { return has_overflowed_; }

 private:
  struct RankState {
    bool has_ended = false, is_given_up = false;
    uint64_t last_step = 0;
    absl::Duration last_report = -absl::InfiniteDuration();
  };
  // By rank.
  using Reports = std::map<uint32_t, v1::StepReport>;
  struct Step {
    absl::Duration first_report;
    bool is_combined = false;
    Reports reports = {};
  };

  void TakeComplete(std::vector<v1::StepSample>* samples);
  bool IsComplete(uint64_t number, const Step& step) const;
  // Unset: not as it stands.
  std::optional<absl::Duration> GivenUpAt(const RankState& rank) const;
  // Whether any was.
  bool GiveUp(absl::Duration now);

  std::vector<RankState> ranks_;
  std::map<uint64_t, Step> waiting_;
  std::vector<uint32_t> given_up_;
  bool has_overflowed_ = false;
  // There was a combined report: then others may come late, or not at all.
  bool combines_ = false;
  // The last step that was taken.
  uint64_t taken_ = 0;
};

}  // namespace tandem::command
