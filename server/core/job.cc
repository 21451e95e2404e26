#include "server/core/job.h"

#include <algorithm>
#include <utility>

#include "common/job_state.h"
#include "common/logical_ranks.h"
#include "common/proto_time.h"
#include "common/spec/equivalence_level.h"
#include "server/core/nccl_id.h"

namespace tandem::core {
namespace {

v1::Receipt ReceiptBeforeTheFirstStep(const v1::JobSpec& spec) {
  const spec::Equivalence equivalence = spec::EquivalenceOf(spec);
  v1::Receipt receipt;
  receipt.set_level(equivalence.level);
  receipt.set_reason(equivalence.reason);
  receipt.set_logical_ranks(spec.logical_ranks());
  return receipt;
}

}  // namespace

Job::Job(uint64_t sequence, const JobSubmitted& submission, Moment now)
    : sequence_(sequence),
      request_id_(submission.request_id),
      submitted_(now.steady),
      queued_(now.steady) {
  view_.set_id(submission.id.value());
  view_.set_name(submission.spec.name());
  view_.set_state(v1::JOB_STATE_QUEUED);
  view_.set_world_size(submission.spec.workers());
  view_.set_logical_ranks(submission.spec.logical_ranks());
  *view_.mutable_submitted_at() = ToProto(now.wall);
  *view_.mutable_spec() = submission.spec;
  *view_.mutable_receipt() = ReceiptBeforeTheFirstStep(submission.spec);
}

Job::Job(v1::JobRecord record, Moment now)
    : sequence_(record.sequence()),
      request_id_(record.request_id()),
      view_(std::move(*record.mutable_job())),
      submitted_(now.steady - (now.wall - FromProto(view_.submitted_at()))),
      queued_(now.steady),
      resumes_(view_.attempt() > 0) {
  if (view_.has_restart_at()) {
    not_before_ = now.steady + (FromProto(view_.restart_at()) - now.wall);
  }
  saved_ = view_.first_step() > 0 && view_.checkpoint().step() >= view_.first_step();
  if (view_.attempt() > 0 && view_.attempts().empty()) AddAttemptOfOlderRecord(now);
}

v1::JobRecord Job::Record() const {
  v1::JobRecord record;
  *record.mutable_job() = view_;
  record.mutable_job()->clear_waiting_reason();
  record.mutable_job()->clear_steps_per_second();
  record.set_sequence(sequence_);
  record.set_request_id(request_id_);
  return record;
}

bool Job::ended() const { return HasEnded(state()); }

bool Job::HasCause() const {
  return view_.has_cause() && view_.cause().attempt() == view_.attempt();
}

bool Job::Move(std::initializer_list<v1::JobState> from, v1::JobState to) {
  if (std::find(from.begin(), from.end(), state()) == from.end()) return false;
  view_.set_state(to);
  view_.clear_waiting_reason();
  return true;
}

bool Job::End(std::initializer_list<v1::JobState> from, v1::JobState to, Moment now) {
  if (!Move(from, to)) return false;
  view_.clear_steps_per_second();
  view_.clear_restart_at();
  *view_.mutable_ended_at() = ToProto(now.wall);
  CloseAttempt(now);
  return true;
}

bool Job::StartAttempt(const std::vector<Placement>& places, Moment now) {
  if (!Move({v1::JOB_STATE_QUEUED}, v1::JOB_STATE_PREPARING)) return false;
  view_.set_attempt(view_.attempt() + 1);
  view_.set_world_size(static_cast<uint32_t>(places.size()));
  view_.clear_step();
  view_.clear_first_step();
  view_.clear_epoch();
  view_.clear_loss();
  view_.clear_evaluation();
  view_.clear_master_port();
  view_.clear_nccl_fingerprint();
  view_.clear_ranks();
  view_.clear_steps_per_second();
  *view_.mutable_receipt() = ReceiptBeforeTheFirstStep(view_.spec());
  rate_ = {};
  saved_ = false;
  view_.clear_restart_at();
  *view_.mutable_started_at() = ToProto(now.wall);
  AddAttempt(now);
  for (uint32_t rank = 0; rank < places.size(); ++rank) {
    const LogicalRange range =
        LogicalRangeOf(Rank(rank), view_.world_size(), view_.logical_ranks());
    v1::RankStatus& status = *view_.add_ranks();
    status.set_rank(rank);
    status.set_worker(places[rank].worker.value());
    status.set_slot(places[rank].slot);
    status.set_phase(v1::PHASE_PREPARE);
    status.set_logical_begin(range.begin);
    status.set_logical_end(range.end);
  }
  return true;
}

bool Job::Run(const v1::Prepared& meeting_point, Moment now) {
  if (!Move({v1::JOB_STATE_PREPARING}, v1::JOB_STATE_RUNNING)) return false;
  view_.set_master_port(meeting_point.master_port());
  if (MeetsByNcclId(view_)) {
    view_.set_nccl_fingerprint(NcclFingerprint(meeting_point.nccl_unique_id()));
  }
  view_.set_total_steps(meeting_point.total_steps());
  if (meeting_point.steps_done() > 0) {
    view_.set_step(meeting_point.steps_done());
    view_.mutable_receipt()->set_step(meeting_point.steps_done());
    view_.mutable_receipt()->set_digest(meeting_point.receipt());
  }
  rate_.Start(now.steady);
  return true;
}

bool Job::Succeed(const std::string& digest, Moment now) {
  if (!End({v1::JOB_STATE_RUNNING}, v1::JOB_STATE_SUCCEEDED, now)) return false;
  view_.set_parameter_digest(digest);
  // That it had to be started again does not say how it ended; the attempts tell.
  view_.clear_cause();
  // It was to be paused when it was done.
  Current().clear_cause();
  return true;
}

bool Job::Fail(Moment now) {
  return End({v1::JOB_STATE_PREPARING, v1::JOB_STATE_RUNNING}, v1::JOB_STATE_FAILED, now);
}

bool Job::Cancel(Moment now) {
  return End({v1::JOB_STATE_QUEUED}, v1::JOB_STATE_CANCELLED, now) ||
         Move({v1::JOB_STATE_PREPARING, v1::JOB_STATE_RUNNING}, v1::JOB_STATE_CANCELLING);
}

bool Job::FinishCancel(Moment now) {
  return End({v1::JOB_STATE_CANCELLING}, v1::JOB_STATE_CANCELLED, now);
}

bool Job::SetCause(v1::Cause cause, Moment now) {
  if (state() != v1::JOB_STATE_PREPARING && state() != v1::JOB_STATE_RUNNING) return false;
  const bool provisional = HasCause() && view_.cause().code() == v1::CAUSE_CODE_PEER_LOST;
  const bool better = provisional && cause.code() != v1::CAUSE_CODE_PEER_LOST;
  if (HasCause() && !better) return false;
  cause.set_attempt(view_.attempt());
  *cause.mutable_time() = ToProto(now.wall);
  *view_.mutable_cause() = std::move(cause);
  return true;
}

void Job::AddLastLines(const v1::RankExited& exit) {
  if (!HasCause() || !view_.cause().has_rank() || view_.cause().rank() != exit.rank()) return;
  if (view_.cause().last_lines().empty()) {
    *view_.mutable_cause()->mutable_last_lines() = exit.last_lines();
  }
}

bool Job::SetWaitingReason(const std::string& reason) {
  if (view_.waiting_reason() == reason) return false;
  view_.set_waiting_reason(reason);
  return true;
}

bool Job::SetProcessState(Rank rank, v1::ProcessState state) {
  if (Status(rank).process() == state) return false;
  Status(rank).set_process(state);
  return true;
}

bool Job::SetPosition(Rank rank, uint64_t step, v1::Phase phase) {
  v1::RankStatus& status = Status(rank);
  if (status.step() == step && status.phase() == phase) return false;
  status.set_step(step);
  status.set_phase(phase);
  return true;
}

}  // namespace tandem::core
