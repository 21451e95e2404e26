#include "worker/trainer/training_loop.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "ATen/Functions.h"
#include "absl/strings/str_format.h"
#include "worker/ddp/parameter_digest.h"
#include "worker/trainer/leaf.h"
#include "worker/trainer/receipt.h"

namespace tandem::trainer {
namespace {

std::unique_ptr<BatchPass> MakePass(const PassParts& parts) {
  // A model without normalizations has nothing to synchronize.
  const bool synchronized = parts.workload.spec.batch_norm() == v1::BATCH_NORM_SYNCHRONIZED &&
                            parts.workload.model->segmented() != nullptr;
  return synchronized ? MakeSynchronizedPass(parts) : MakeSequentialPass(parts);
}

}  // namespace

TrainingLoop::TrainingLoop(Parts parts)
    : parts_(std::move(parts)),
      workload_(parts_.pass.workload),
      total_steps_(workload_.sampler.total_steps()),
      state_(parts_.state),
      pass_(MakePass(parts_.pass)),
      evaluator_(parts_.pass.workload, parts_.pass.tallies, parts_.pass.reducer.range(),
                 parts_.pass.position) {}

template <typename Function, typename... Arguments>
absl::Status TrainingLoop::Tell(Function function, const Arguments&... arguments) {
  for (TrainingObserver* observer : parts_.observers) {
    if (absl::Status status = (observer->*function)(arguments...); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TrainingLoop::Run() {
  while (!IsLastStep() && !paused_) {
    if (absl::Status status = Step(); !status.ok()) return status;
    if (absl::Status status = Evaluate(); !status.ok()) return status;
    if (absl::Status status = SaveIfDue(); !status.ok()) return status;
  }
  return Tell(&TrainingObserver::OnEnd);
}

absl::Status TrainingLoop::Step() {
  const double loss_scale = parts_.update.loss_scale();
  if (absl::Status status = pass_->Run(state_.step, loss_scale); !status.ok()) return status;
  const absl::StatusOr<ddp::Tally> total = Reduce();
  if (!total.ok()) return total.status();
  if (absl::Status status = ShareBuffers(); !status.ok()) return status;
  Enter(v1::PHASE_OPTIMIZER);
  const absl::StatusOr<ParameterUpdate::Report> report = parts_.update.Apply(state_.step);
  if (!report.ok()) return report.status();
  return FinishStep(*total, *report);
}

absl::StatusOr<ddp::Tally> TrainingLoop::Reduce() {
  Enter(v1::PHASE_REDUCE);
  absl::StatusOr<ddp::Tally> total = parts_.pass.tallies.Wait();
  if (!total.ok()) return total.status();
  absl::Status status = parts_.pass.reducer.Finish(total->count);
  if (!status.ok()) return status;
  if (!std::isfinite(total->loss_sum)) {
    return absl::OutOfRangeError(
        absl::StrFormat("the loss of step %d is %g; a lower learning rate may help",
                        state_.step + 1, total->loss_sum));
  }
  return total;
}

// The keeper's, from the rank that executes it; all in one message.
absl::Status TrainingLoop::ShareBuffers() {
  if (parts_.pass.mistakes.BuffersStayOnRank() || parts_.transport.world_size() == 1 ||
      state_.buffers.empty()) {
    return absl::OkStatus();
  }
  std::vector<at::Tensor> buffers;  // in main memory; there, the buffers themselves
  for (const ddp::NamedTensor& buffer : state_.buffers) buffers.push_back(buffer.tensor.cpu());
  std::vector<std::byte> message;
  for (const at::Tensor& buffer : buffers) {
    const auto* bytes = static_cast<const std::byte*>(buffer.const_data_ptr());
    message.insert(message.end(), bytes, bytes + buffer.nbytes());
  }
  const Rank root = RankOf(KeeperOfBuffers(parts_.pass, state_.step));
  absl::Status status = parts_.transport.Broadcast(absl::MakeSpan(message), root);
  if (!status.ok()) return status;
  const std::byte* bytes = message.data();
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::memcpy(buffers[i].mutable_data_ptr(), bytes, buffers[i].nbytes());
    bytes += buffers[i].nbytes();
    state_.buffers[i].tensor.copy_(buffers[i]);  // no effect in main memory
  }
  return absl::OkStatus();
}

Rank TrainingLoop::RankOf(LogicalRank logical_rank) const {
  uint32_t rank = 0;
  const auto range = [&] {
    return LogicalRangeOf(Rank(rank), parts_.transport.world_size(),
                          workload_.spec.logical_ranks());
  };
  while (range().end <= logical_rank.value()) ++rank;
  return Rank(rank);
}

absl::Status TrainingLoop::FinishStep(const ddp::Tally& total,
                                      const ParameterUpdate::Report& report) {
  v1::StepSample sample;
  sample.set_epoch(workload_.sampler.At(state_.step).epoch);
  sample.set_step(++state_.step);
  sample.set_loss_sum(total.loss_sum);
  sample.set_count(total.count);
  sample.set_samples_digest(total.samples_digest);
  sample.set_learning_rate(report.learning_rate);
  // Before ranks are compared: where they differ, it is the evidence.
  if (absl::Status status = Trace(sample, report.gradient_norm); !status.ok()) return status;
  if (absl::Status status = Verify(&sample); !status.ok()) return status;
  const bool is_due = state_.step % workload_.spec.verify_every() == 0;
  paused_ = total.pauses > 0 && !IsLastStep();
  state_.receipt = ExtendReceipt(state_.receipt, sample, is_due);
  sample.set_receipt(state_.receipt);
  Enter(v1::PHASE_DATA);
  return Tell(&TrainingObserver::OnStep, sample);
}

absl::Status TrainingLoop::Verify(v1::StepSample* sample) {
  if (!IsLastStep() && state_.step % workload_.spec.verify_every() != 0) return absl::OkStatus();
  std::vector<ddp::NamedTensor> tensors = state_.parameters;
  // Where buffers are meant to differ there is nothing to compare, but rank 0's are reported.
  if (!parts_.pass.mistakes.BuffersStayOnRank()) {
    tensors.insert(tensors.end(), state_.buffers.begin(), state_.buffers.end());
  }
  if (absl::Status status = CheckFinite(); !status.ok()) return status;
  Enter(v1::PHASE_REDUCE);
  absl::Status status = ddp::VerifyEqualDigests(parts_.transport, tensors);
  if (absl::IsFailedPrecondition(status)) {
    return absl::AbortedError(absl::StrFormat("after step %d %s", state_.step, status.message()));
  }
  if (!status.ok()) return status;
  sample->set_parameter_digest(DigestOf(*workload_.model));
  return absl::OkStatus();
}

absl::Status TrainingLoop::CheckFinite() const {
  for (const ddp::NamedTensor& parameter : state_.parameters) {
    if (at::isfinite(parameter.tensor).all().item<bool>()) continue;
    return absl::OutOfRangeError(
        absl::StrFormat("parameter '%s' is not finite after step %d; a lower learning rate or "
                        "clip_norm may help",
                        parameter.name, state_.step));
  }
  return absl::OkStatus();
}

absl::Status TrainingLoop::Trace(const v1::StepSample& sample, double gradient_norm) {
  if (parts_.pass.tracer == nullptr) return absl::OkStatus();
  return parts_.pass.tracer->OnStep(sample, gradient_norm, TensorsOf(workload_));
}

bool TrainingLoop::EvaluationIsDue() const {
  const v1::JobSpec& spec = workload_.spec;
  if (!spec.has_evaluate()) return false;
  if (IsLastStep()) return true;
  const v1::Evaluate& evaluate = spec.evaluate();
  if (evaluate.has_every_steps() && state_.step % evaluate.every_steps() == 0) return true;
  const data::Sampler::Position next = workload_.sampler.At(state_.step);
  return next.batch == 0 && next.epoch % evaluate.every_epochs() == 0;
}

absl::Status TrainingLoop::Evaluate() {
  if (!EvaluationIsDue()) return absl::OkStatus();
  absl::StatusOr<v1::Evaluation> evaluation = evaluator_.Measure(state_.step);
  if (!evaluation.ok()) return evaluation.status();
  evaluation->set_epoch(workload_.sampler.At(state_.step - 1).epoch);
  return Tell(&TrainingObserver::OnEvaluation, *evaluation);
}

absl::Status TrainingLoop::SaveIfDue() {
  if (parts_.writer == nullptr) return absl::OkStatus();
  if (!paused_ && !parts_.writer->IsDue(state_.step)) return absl::OkStatus();
  if (absl::Status status = CheckFinite(); !status.ok()) return status;
  if (absl::Status status = Tell(&TrainingObserver::BeforeCheckpoint); !status.ok()) return status;
  Enter(v1::PHASE_CHECKPOINT);
  state_.loss_scale = parts_.update.scaler_state().scale;
  state_.steps_since_loss_scale_changed = parts_.update.scaler_state().good_steps;
  state_.optimizer = OptimizerStateOf(workload_);
  const absl::StatusOr<v1::CheckpointFile> file = parts_.writer->Write(state_);
  if (!file.ok()) return file.status();
  return Tell(&TrainingObserver::OnCheckpoint, *file);
}

}  // namespace tandem::trainer
