#include "worker/trainer/training_run.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/cleanup/cleanup.h"
#include "common/clock.h"
#include "worker/checkpoint/checkpoint_writer.h"
#include "worker/ddp/parameter_digest.h"
#include "worker/trainer/progress_printer.h"
#include "worker/trainer/progress_reporter.h"
#include "worker/trainer/share_source.h"
#include "worker/trainer/tracer.h"
#include "worker/trainer/training_loop.h"

namespace tandem::trainer {
namespace {

ddp::GradientReducerOptions ReducerOptions(const TrainingRun& run) {
  ddp::GradientReducerOptions options;
  options.logical_ranks = run.workload.spec.logical_ranks();
  options.job_hash = HashOf(run.workload);
  options.device = run.device;
  if (run.workload.spec.reduction() == v1::REDUCTION_ALLREDUCE) {
    options.reduction = ddp::Reduction::kAllReduce;
  }
  return options;
}

// All ranks begin with the same tensors at the same step: each has read a checkpoint for itself.
absl::Status VerifyBeginning(const TrainingRun& run, ddp::Transport& transport) {
  std::vector<ddp::NamedTensor> tensors = TensorsOf(run.workload);
  tensors.push_back({"number of steps done", at::full({}, static_cast<int64_t>(run.state.step),
                                                      at::TensorOptions(at::kLong))});
  return ddp::VerifyEqualDigests(transport, tensors);
}

absl::StatusOr<std::unique_ptr<Tracer>> MakeTracer(const TrainingRun& run, LogicalRange range) {
  const v1::JobSpec& spec = run.workload.spec;
  if (!spec.has_trace()) return nullptr;
  return Tracer::Create(spec.trace(),
                        {.rank = Rank(run.assignment.rank()),
                         .world_size = run.assignment.world_size(),
                         .range = range,
                         .logical_ranks = spec.logical_ranks(),
                         .training_samples = run.workload.split.training.size(),
                         .device = run.workload.device},
                        TensorsOf(run.workload));
}

absl::StatusOr<TrainingEnd> RunLoop(const TrainingRun& run, TrainingLoop::Parts parts) {
  const SystemClock clock;
  ProgressReporter reporter(clock, [&run](const v1::RankProgress& progress) {
    v1::TrainerToAgent message;
    *message.mutable_progress() = progress;
    return run.agent.Send(message);
  });
  ProgressPrinter printer(clock, run.workload.sampler.total_steps(), std::cout);
  if (run.assignment.rank() == 0) parts.observers = {&reporter, &printer};
  TrainingLoop loop(std::move(parts));
  if (absl::Status status = loop.Run(); !status.ok()) return status;
  return loop.paused() ? TrainingEnd::kPaused : TrainingEnd::kFinished;
}

}  // namespace

absl::StatusOr<TrainingEnd> Train(const TrainingRun& run, ddp::Transport& transport) {
  const ddp::GradientReducerOptions options = ReducerOptions(run);
  auto reducer = ddp::GradientReducer::Create(transport, run.workload.model->Parameters(), options);
  if (!reducer.ok()) return reducer.status();
  ddp::LeafTallies tallies(transport, options.logical_ranks, options.job_hash);
  ddp::LeafFold fold(transport, options.logical_ranks, options.job_hash);
  // Reducer and tallies wait in their destructors for exchanges that may never end.
  absl::Cleanup abort = [&transport] { transport.Abort(); };
  auto tracer = MakeTracer(run, (*reducer)->range());
  if (!tracer.ok()) return tracer.status();
  if (absl::Status status = VerifyBeginning(run, transport); !status.ok()) return status;

  ShareSource shares(run.workload, run.mistakes, (*reducer)->range(), run.state.step);
  const absl::StatusOr<TrainingEnd> end =
      RunLoop(run, {.pass = {.workload = run.workload,
                             .reducer = **reducer,
                             .tallies = tallies,
                             .fold = fold,
                             .shares = shares,
                             .position = run.position,
                             .mistakes = run.mistakes,
                             .hooks = run.hooks,
                             .rank = Rank(run.assignment.rank()),
                             .pause_wanted = run.agent.pause_wanted(),
                             .tracer = tracer->get()},
                    .transport = transport,
                    .update = run.update,
                    .state = run.state,
                    .writer = run.writer,
                    .observers = {}});
  if (end.ok()) std::move(abort).Cancel();
  return end;
}

}  // namespace tandem::trainer
