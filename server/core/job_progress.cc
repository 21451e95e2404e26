// The part of a Job that follows its steps.

#include "common/proto_time.h"
#include "server/core/job.h"

namespace tandem::core {
namespace {

void Extend(v1::Receipt* receipt, const v1::StepSample& sample) {
  receipt->set_step(sample.step());
  receipt->set_digest(sample.receipt());
  if (sample.parameter_digest().empty()) return;
  receipt->set_parameter_step(sample.step());
  receipt->set_parameter_digest(sample.parameter_digest());
}

}  // namespace

bool Job::AddProgress(const v1::RankProgress& progress, Moment now) {
  if (!progress.evaluations().empty()) {
    *view_.mutable_evaluation() = *progress.evaluations().rbegin();
  }
  if (!progress.samples().empty()) AddSamples(progress.samples(), now);
  return progress.has_checkpoint() && SetCheckpoint(progress.checkpoint());
}

void Job::AddSamples(const google::protobuf::RepeatedPtrField<v1::StepSample>& samples,
                     Moment now) {
  if (view_.first_step() == 0) NoteFirstStep(samples.begin()->step(), now);
  if (!view_.has_time_to_first_step()) {
    *view_.mutable_time_to_first_step() = ToProto(now.steady - submitted_);
  }
  for (const v1::StepSample& sample : samples) {
    view_.set_step(sample.step());
    view_.set_epoch(sample.epoch());
    // A step in which everything was masked has no loss; the last one that there is stays.
    if (sample.count() > 0) {
      view_.set_loss(sample.loss_sum() / static_cast<double>(sample.count()));
    }
    Extend(view_.mutable_receipt(), sample);
  }
  Current().set_last_step(view_.step());
  last_step_ = now.steady;
  rate_.Add(now.steady, static_cast<uint64_t>(samples.size()));
  RefreshRate(now);
}

// Within an attempt never backwards; a new one may have to begin before the last of its predecessor.
bool Job::SetCheckpoint(const v1::CheckpointFile& file) {
  if (saved_ && file.step() <= view_.checkpoint().step()) return false;
  saved_ = true;
  // Where it gets ahead, it may fail as often again.
  if (file.step() > view_.checkpoint().step()) view_.clear_failures();
  *view_.mutable_checkpoint() = file;
  return true;
}

bool Job::RefreshRate(Moment now) {
  const double rate = rate_.PerSecond(now.steady);
  if (rate == view_.steps_per_second()) return false;
  view_.set_steps_per_second(rate);
  return true;
}

}  // namespace tandem::core
