#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/report.pb.h"

namespace tandem::command {

// Makes one loss a step out of what the ranks report, each of its own samples: sums and counts are added, in
// the order of ranks, so that the mean is right for shares of any size and the same whoever is faster.
//
// A step is complete when every rank has reported it, or a later one, or has ended. A rank that never
// reports anything is waited for, for a while, and then no more. A report that is over all ranks already
// completes its step and those before it.
class ReportMerger {
 public:
  // After the first report of any rank.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  explicit ReportMerger(uint32_t world_size) : ranks_(world_size) {}

  // Times are of one steady clock.
  //   InvalidArgument  the rank had reported this step or a later one.
  //   OutOfRange       the step was counted without this rank.
  absl::Status Add(uint32_t rank, const v1::StepReport& report, absl::Duration now);
  // The rank will report nothing more.
  void End(uint32_t rank) { ranks_[rank].has_ended = true; }

  // Steps that have become complete, in order.
  std::vector<v1::StepSample> Take(absl::Duration now);

  // When ranks that never reported are given up on; unset where there is nobody to wait for.
  std::optional<absl::Duration> deadline() const;
  // Those ranks, from the deadline on.
  std::vector<uint32_t> Silent() const;

 private:
  struct RankState {
    bool has_ended = false;
    uint64_t last_step = 0;
  };
  // By rank.
  using Reports = std::map<uint32_t, v1::StepReport>;

  bool IsComplete(uint64_t step, absl::Duration now) const;

  std::vector<RankState> ranks_;
  std::optional<absl::Duration> first_report_;
  std::map<uint64_t, Reports> waiting_;
  // The last step that was taken, and the last one that a combined report has completed.
  uint64_t taken_ = 0, combined_ = 0;
};

}  // namespace tandem::command
