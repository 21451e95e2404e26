#pragma once

#include <optional>
#include <string>

#include "client/console.h"
#include "common/clock.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// "step 200/1120 epoch 3/20 loss 0.1234 812 steps/s", or what else the job is at.
std::string ProgressText(const v1::Job& job);

// The same with a bar and, if wanted, the time that is left, less than `columns` wide: the bar gives
// way first, then what matters less than the step. Words stay whole.
std::string ProgressBar(const v1::Job& job, int columns, bool with_time_left);

// Shows a job's progress on standard error: one line that is drawn over on a terminal, else plain
// lines, few of them. A state in which the job has ended is for the summary.
class Progress {
 public:
  Progress(Console* console, const Clock* clock) : console_(*console), clock_(*clock) {}
  ~Progress() { Clear(); }

  void Update(const v1::Job& job);
  // A line for people that does not mix with the one that is drawn over.
  void Remark(const std::string& line);
  // Takes away the line that is drawn over, before something else is printed.
  void Clear();
  // Leaves it as it stands: after Ctrl-C the terminal has put "^C" behind it.
  void Leave() { drawn_ = false; }

 private:
  bool IsLive() const { return console_.settings().remarks_are_terminal; }
  bool IsDue(const v1::Job& job) const;
  void NoteSteps(const v1::Job& job);
  // Says that attempts have ended and the job goes on; of those before the first state, only the last.
  void TellOfRestarts(const v1::Job& job);
  bool RateIsKnown() const;

  Console& console_;
  const Clock& clock_;
  bool drawn_ = false;
  v1::Job shown_;
  std::optional<absl::Duration> shown_at_;
  // Since when steps of this attempt have been seen.
  uint32_t attempt_ = 0;
  // The last attempt whose end has been told; unset before the first state.
  std::optional<uint32_t> told_;
  std::optional<absl::Duration> steps_since_;
};

}  // namespace tandem::client
