// The part of a Job that goes on after an attempt has ended, and remembers it.

#include <algorithm>

#include "common/proto_time.h"
#include "common/slot_request.h"
#include "common/world_size_bounds.h"
#include "server/core/cause.h"
#include "server/core/job.h"

namespace tandem::core {
namespace {

constexpr int kAttemptsKept = 100;
constexpr absl::Duration kLongestBackoff = absl::Minutes(1);

// A port that the system chose is as likely to be free as another one.
constexpr int kPortTries = 3;

// Doubles with each failure.
absl::Duration Backoff(const v1::Restart& restart, uint32_t failures) {
  absl::Duration wait = FromProto(restart.backoff());
  for (uint32_t i = 1; i < failures && wait < kLongestBackoff; ++i) wait *= 2;
  return std::min(wait, kLongestBackoff);
}

}  // namespace

void Job::AddAttempt(Moment now) {
  auto& attempts = *view_.mutable_attempts();
  if (attempts.size() >= kAttemptsKept) attempts.erase(attempts.begin() + 1);
  v1::AttemptStatus& attempt = *attempts.Add();
  attempt.set_number(view_.attempt());
  attempt.set_world_size(view_.world_size());
  *attempt.mutable_started_at() = ToProto(now.wall);
}

void Job::AddAttemptOfOlderRecord(Moment now) {
  AddAttempt(now);
  *Current().mutable_started_at() = view_.started_at();
  Current().set_first_step(view_.first_step());
  Current().set_last_step(view_.step());
  if (!view_.has_ended_at()) return;
  *Current().mutable_ended_at() = view_.ended_at();
  if (HasCause()) *Current().mutable_cause() = view_.cause();
}

void Job::CloseAttempt(Moment now) {
  if (view_.attempts().empty() || Current().has_ended_at()) return;
  *Current().mutable_ended_at() = ToProto(now.wall);
  if (HasCause()) *Current().mutable_cause() = view_.cause();
}

void Job::SetPlannedEnd(v1::CauseCode code, const std::string& why, Moment now) {
  if (EndIsPlanned()) return;
  v1::Cause& cause = *Current().mutable_cause();
  cause.set_code(code);
  cause.set_message(why);
  cause.set_attempt(view_.attempt());
  cause.set_step(view_.step());
  *cause.mutable_time() = ToProto(now.wall);
}

bool Job::EndIsPlanned() const {
  return !view_.attempts().empty() && !view_.attempts().rbegin()->has_ended_at() &&
         view_.attempts().rbegin()->has_cause();
}

bool Job::Requeue(Moment now) {
  resumes_ = true;
  return Requeue(now, absl::ZeroDuration());
}

// That another process was faster is no failure of the job: it meets on another port, a few times over.
bool Job::LostAPort() const {
  if (view_.cause().code() != v1::CAUSE_CODE_PORT_TAKEN) return false;
  if (view_.spec().command().has_master_port()) return false;
  int tries = 1;
  for (auto attempt = view_.attempts().rbegin() + 1; attempt != view_.attempts().rend();
       ++attempt) {
    if (attempt->cause().code() != v1::CAUSE_CODE_PORT_TAKEN) break;
    ++tries;
  }
  return tries < kPortTries;
}

bool Job::Retry(Moment now) {
  if (!HasCause() || !MayHeal(view_.cause().code())) return false;
  resumes_ = false;
  if (LostAPort()) return Requeue(now, absl::ZeroDuration());
  if (view_.failures() >= view_.spec().restart().max()) return false;
  const absl::Duration backoff = Backoff(view_.spec().restart(), view_.failures() + 1);
  if (!Requeue(now, backoff)) return false;
  view_.set_failures(view_.failures() + 1);
  *view_.mutable_restart_at() = ToProto(now.wall + backoff);
  return true;
}

bool Job::Requeue(Moment now, absl::Duration backoff) {
  if (!Move({v1::JOB_STATE_PREPARING, v1::JOB_STATE_RUNNING}, v1::JOB_STATE_QUEUED)) return false;
  view_.clear_steps_per_second();
  CloseAttempt(now);
  queued_ = now.steady;
  not_before_ = now.steady + backoff;
  return true;
}

void Job::SetBounds(uint32_t min, uint32_t max) {
  view_.set_resized_min(min);
  view_.set_resized_max(max);
}

Demand Job::demand() const {
  const WorldSizeBounds bounds = BoundsOf(view_);
  return {.job = id(),
          .precedence = {view_.spec().priority(), sequence_},
          .min = bounds.min,
          .max = bounds.max,
          .queued = queued_,
          .resumes = resumes_,
          .not_before = not_before_,
          .is_command = view_.spec().has_command(),
          .device = device()};
}

std::string Job::device() const {
  if (!view_.ranks().empty()) return std::string(KindOfSlot(view_.ranks(0).slot()));
  return view_.spec().device();
}

void Job::NoteFirstStep(uint64_t step, Moment now) {
  view_.set_first_step(step);
  Current().set_first_step(step);
  if (last_step_) *Current().mutable_pause() = ToProto(now.steady - *last_step_);
}

std::optional<absl::Duration> Job::Pause() const {
  if (view_.attempts().empty() || !view_.attempts().rbegin()->has_pause()) return std::nullopt;
  return FromProto(view_.attempts().rbegin()->pause());
}

}  // namespace tandem::core
