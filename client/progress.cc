#include "client/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/job_text.h"

namespace tandem::client {
namespace {

constexpr absl::Duration kBetweenFrames = absl::Milliseconds(100);
constexpr absl::Duration kBetweenLines = absl::Seconds(1);

std::string Facts(const v1::Job& job) {
  std::string text = absl::StrCat("step ", job.step());
  if (job.total_steps() > 0) absl::StrAppend(&text, "/", job.total_steps());
  absl::StrAppend(&text, " epoch ", job.epoch());
  if (job.has_loss()) absl::StrAppend(&text, " loss ", LossText(job.loss()));
  if (job.steps_per_second() > 0) {
    absl::StrAppendFormat(&text, " %.0f steps/s", job.steps_per_second());
  }
  return text;
}

std::string Bar(const v1::Job& job) {
  constexpr size_t kWidth = 24;
  const size_t full =
      std::min(kWidth, kWidth * job.step() / std::max<size_t>(1, job.total_steps()));
  return absl::StrCat("[", std::string(full, '#'), std::string(kWidth - full, '.'), "]");
}

std::string TimeLeft(const v1::Job& job) {
  if (job.steps_per_second() <= 0 || job.step() >= job.total_steps()) return "";
  const auto steps = static_cast<double>(job.total_steps() - job.step());
  return absl::StrCat(" ", DurationText(absl::Seconds(steps / job.steps_per_second())), " left");
}

}  // namespace

std::string ProgressText(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_RUNNING && job.step() > 0) return Facts(job);
  std::string text = StateText(job.state());
  if (!job.waiting_reason().empty()) absl::StrAppend(&text, ": ", job.waiting_reason());
  return text;
}

std::string ProgressBar(const v1::Job& job, int columns) {
  std::string text = ProgressText(job);
  if (job.state() == v1::JOB_STATE_RUNNING && job.total_steps() > 0) {
    text = absl::StrCat(Bar(job), " ", text, TimeLeft(job));
  }
  return text.substr(0, static_cast<size_t>(std::max(1, columns - 1)));
}

bool Progress::IsDue(const v1::Job& job) const {
  if (!shown_at_ || job.state() != shown_.state() || job.attempt() != shown_.attempt() ||
      job.waiting_reason() != shown_.waiting_reason()) {
    return true;
  }
  if (ProgressText(job) == ProgressText(shown_)) return false;
  return clock_.Now().steady - *shown_at_ >= (IsLive() ? kBetweenFrames : kBetweenLines);
}

void Progress::Update(const v1::Job& job) {
  if (!IsDue(job)) return;
  shown_ = job;
  shown_at_ = clock_.Now().steady;
  if (!IsLive()) return console_.Remark(absl::StrCat(job.id(), " ", ProgressText(job)));
  console_.RemarkRaw(absl::StrCat("\r\x1b[K", ProgressBar(job, console_.settings().columns)));
  drawn_ = true;
}

void Progress::Remark(const std::string& line) {
  Clear();
  console_.Remark(line);
}

void Progress::Clear() {
  if (drawn_) console_.RemarkRaw("\r\x1b[K");
  drawn_ = false;
}

}  // namespace tandem::client
