#pragma once

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
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
// lines, few of them. A state in which the job has ended is for the summary. Thread-safe.
class Progress {
 public:
  Progress(Console* console, const Clock* clock) : console_(*console), clock_(*clock) {}
  ~Progress() { Clear(); }

  void Update(const v1::Job& job);
  // A line for people that does not mix with the one that is drawn over.
  void Remark(const std::string& line);
  // Calls `print`, which may write whole lines, while no line is drawn over.
  void Aside(absl::FunctionRef<void()> print);
  // Takes away the line that is drawn over, before something else is printed.
  void Clear();
  // Leaves it as it stands: after Ctrl-C the terminal has put "^C" behind it.
  void Leave();

 private:
  bool IsLive() const { return console_.settings().remarks_are_terminal; }
  bool IsDue(const v1::Job& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSteps(const v1::Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Says that attempts have ended and the job goes on; of those before the first state, only the last.
  void TellOfRestarts(const v1::Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool RateIsKnown() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Console& console_;
  const Clock& clock_;
  absl::Mutex mutex_;
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
  v1::Job shown_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> shown_at_ ABSL_GUARDED_BY(mutex_);
  // Since when steps of this attempt have been seen.
  uint32_t attempt_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last attempt whose end has been told; unset before the first state.
  std::optional<uint32_t> told_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> steps_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem::client
