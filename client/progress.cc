#include "client/progress.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/follow.h"
#include "client/job_text.h"
#include "common/job_state.h"

namespace tandem::client {
namespace {

constexpr absl::Duration kBetweenFrames = absl::Milliseconds(100);
constexpr absl::Duration kBetweenLines = absl::Seconds(1);
// Before that, the rate of a job says little about how long it will take.
constexpr absl::Duration kUntilRateIsKnown = absl::Seconds(2);

struct Fact {
  std::string text;
  // The highest goes first where there is no room; 0 stays.
  int expendability;
};

bool HasSteps(const v1::Job& job) { return job.state() == v1::JOB_STATE_RUNNING && job.step() > 0; }

std::string StepText(const v1::Job& job) {
  return job.total_steps() == 0 ? absl::StrCat("step ", job.step())
                                : absl::StrCat("step ", job.step(), "/", job.total_steps());
}

// The number of the last attempt that ended without being the job's end; 0: none has.
uint32_t LastThatWasFollowed(const v1::Job& job) {
  if (job.attempts().empty()) return 0;
  const v1::AttemptStatus& last = *job.attempts().rbegin();
  // What becomes of it is for the summary.
  const bool is_the_end = HasEnded(job.state()) || job.state() == v1::JOB_STATE_CANCELLING;
  return last.has_ended_at() && !is_the_end ? last.number() : last.number() - 1;
}

std::string ContinuationText(const v1::Job& job) {
  return job.has_checkpoint() ? "goes on from its checkpoint" : "starts again";
}

std::vector<Fact> Facts(const v1::Job& job) {
  std::vector<Fact> facts = {{StepText(job), 0}};
  if (EpochIsKnown(job)) facts.push_back({absl::StrCat("epoch ", EpochText(job)), 3});
  if (job.has_loss()) facts.push_back({absl::StrCat("loss ", LossText(job.loss())), 1});
  if (job.steps_per_second() > 0) facts.push_back({RateText(job.steps_per_second()), 4});
  return facts;
}

void AddTimeLeft(const v1::Job& job, std::vector<Fact>* facts) {
  if (job.steps_per_second() <= 0 || job.step() >= job.total_steps()) return;
  const auto steps = static_cast<double>(job.total_steps() - job.step());
  const absl::Duration left = absl::Seconds(steps / job.steps_per_second());
  facts->push_back({absl::StrCat(DurationText(left), " left"), 2});
}

std::string Joined(const std::vector<Fact>& facts) {
  return absl::StrJoin(facts, " ", [](std::string* out, const Fact& fact) { *out += fact.text; });
}

std::string WordsThatFit(const std::string& text, size_t width) {
  constexpr absl::string_view kMore = " ...";
  if (text.size() <= width) return text;
  if (width < kMore.size()) return "";
  const size_t end = text.rfind(' ', width - kMore.size());
  return end == std::string::npos ? "" : absl::StrCat(text.substr(0, end), kMore);
}

std::string FactsThatFit(std::vector<Fact> facts, size_t width) {
  const auto is_less = [](const Fact& a, const Fact& b) {
    return a.expendability < b.expendability;
  };
  while (facts.size() > 1 && Joined(facts).size() > width) {
    facts.erase(std::max_element(facts.begin(), facts.end(), is_less));
  }
  return WordsThatFit(Joined(facts), width);
}

// With a space behind it; empty where it would be too short to show anything.
std::string Bar(const v1::Job& job, size_t room) {
  constexpr size_t kLongest = 24;
  constexpr size_t kShortest = 8;
  constexpr size_t kFrame = sizeof("[] ") - 1;
  if (job.total_steps() == 0 || room < kShortest + kFrame) return "";
  const size_t width = std::min(kLongest, room - kFrame);
  const size_t full = std::min(width, width * job.step() / job.total_steps());
  return absl::StrCat("[", std::string(full, '#'), std::string(width - full, '.'), "] ");
}

}  // namespace

std::string ProgressText(const v1::Job& job) {
  if (HasSteps(job)) return Joined(Facts(job));
  std::string text = StateText(job.state());
  if (!job.waiting_reason().empty()) absl::StrAppend(&text, ": ", job.waiting_reason());
  return text;
}

std::string ProgressBar(const v1::Job& job, int columns, bool with_time_left) {
  // A terminal may wrap as soon as its last column is used.
  const auto width = static_cast<size_t>(std::max(1, columns - 1));
  if (!HasSteps(job)) return WordsThatFit(ProgressText(job), width);
  std::vector<Fact> facts = Facts(job);
  if (with_time_left) AddTimeLeft(job, &facts);
  const std::string text = Joined(facts);
  if (text.size() > width) return FactsThatFit(std::move(facts), width);
  return absl::StrCat(Bar(job, width - text.size()), text);
}

bool Progress::IsDue(const v1::Job& job) const {
  if (!shown_at_ || job.state() != shown_.state() || job.attempt() != shown_.attempt() ||
      job.waiting_reason() != shown_.waiting_reason()) {
    return true;
  }
  if (ProgressText(job) == ProgressText(shown_)) return false;
  return clock_.Now().steady - *shown_at_ >= (IsLive() ? kBetweenFrames : kBetweenLines);
}

void Progress::NoteSteps(const v1::Job& job) {
  if (job.attempt() != attempt_) steps_since_.reset();
  attempt_ = job.attempt();
  if (HasSteps(job) && !steps_since_) steps_since_ = clock_.Now().steady;
}

bool Progress::RateIsKnown() const {
  return steps_since_ && clock_.Now().steady - *steps_since_ >= kUntilRateIsKnown;
}

void Progress::Update(const v1::Job& job) {
  const absl::MutexLock lock(&mutex_);
  NoteSteps(job);
  TellOfRestarts(job);
  if (HasEnded(job.state()) || !IsDue(job)) return;
  shown_ = job;
  shown_at_ = clock_.Now().steady;
  if (!IsLive()) return console_.Remark(absl::StrCat(job.id(), " ", ProgressText(job)));
  Draw();
}

void Progress::TellOfRestarts(const v1::Job& job) {
  const uint32_t ended = LastThatWasFollowed(job);
  const uint32_t told = told_.value_or(ended == 0 ? 0 : ended - 1);
  told_ = std::max(told, ended);
  for (const v1::AttemptStatus& attempt : job.attempts()) {
    if (attempt.number() <= told || attempt.number() > ended) continue;
    Erase();
    console_.Remark(
        absl::StrCat(job.id(), " ", AttemptText(attempt), "; the job ", ContinuationText(job)));
  }
}

void Progress::Remark(const std::string& line) {
  const absl::MutexLock lock(&mutex_);
  Erase();
  console_.Remark(line);
}

void Progress::Aside(absl::FunctionRef<void()> print) {
  const absl::MutexLock lock(&mutex_);
  const bool was_drawn = drawn_;
  Erase();
  print();
  if (was_drawn) Draw();
}

void Progress::Clear() {
  const absl::MutexLock lock(&mutex_);
  Erase();
}

void Progress::Leave() {
  const absl::MutexLock lock(&mutex_);
  drawn_ = false;
}

void Progress::Draw() {
  console_.RemarkRaw(
      absl::StrCat("\r\x1b[K", ProgressBar(shown_, console_.settings().columns, RateIsKnown())));
  drawn_ = true;
}

void Progress::Erase() {
  if (drawn_) console_.RemarkRaw("\r\x1b[K");
  drawn_ = false;
}

}  // namespace tandem::client
