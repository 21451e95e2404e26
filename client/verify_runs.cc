#include "client/verify_runs.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/follow.h"
#include "client/job_text.h"
#include "client/verify/trace_file.h"

namespace tandem::client {
namespace {

absl::StatusOr<v1::Job> TrainToEnd(const v1::JobSpec& spec, const TrainingGround& ground) {
  const auto submitted = ground.connection->Submit(spec);
  if (!submitted.ok()) return submitted.status();
  FollowOptions options;
  options.limits.interrupts = ground.interrupts;
  // Our own coordinator does not come back.
  options.patience = absl::ZeroDuration();
  auto job = Follow(
      ground.connection, submitted->id(), options,
      [&](v1::Job state) {
        // Our own worker needs a moment to connect, which is no news.
        state.clear_waiting_reason();
        ground.progress->Update(state);
      },
      [&](const std::string& trouble) { ground.progress->Remark(trouble); });
  ground.progress->Clear();
  return job;
}

bool RanksDisagree(const v1::Job& job) {
  return job.state() == v1::JOB_STATE_FAILED &&
         job.cause().code() == v1::CAUSE_CODE_DIGEST_MISMATCH;
}

absl::StatusOr<verify::Run> NothingReported(const v1::Job& job) {
  return absl::AbortedError(
      absl::StrCat(job.id(),
                   " reported no loss, so that there is nothing to compare: call report(step, "
                   "loss_sum, count) of "
                   "tandem_report.py in it, or say where rank 0 prints the loss, as with --set "
                   "'command.parse.loss=loss ([0-9.e+-]+)'"));
}

absl::StatusOr<verify::Run> Collect(const v1::Job& job, const v1::JobSpec& spec,
                                    Connection* connection) {
  const auto history = connection->History(job.id());
  if (!history.ok()) return history.status();
  verify::Run run;
  run.world_size = spec.workers();
  run.samples = {history->samples().begin(), history->samples().end()};
  run.evaluations = {history->evaluations().begin(), history->evaluations().end()};
  if (spec.has_command()) return run.samples.empty() ? NothingReported(job) : run;
  run.ranks_disagree = RanksDisagree(job);
  if (run.ranks_disagree) run.cause = job.cause().message();
  auto traces = verify::ReadTraces(spec.trace().dir(), spec.workers());
  // Ranks that disagree before the first step have not begun to write.
  if (!traces.ok()) return run.ranks_disagree ? absl::StatusOr<verify::Run>(run) : traces.status();
  run.ranks = *std::move(traces);
  return run;
}

std::string CauseText(const v1::Cause& cause) {
  std::string text = FormatCause(cause);
  text.pop_back();  // the newline
  return text;
}

absl::Status Failure(const v1::Job& job) {
  return absl::AbortedError(
      absl::StrCat(job.id(), " ", StateText(job.state()),
                   job.has_cause() ? absl::StrCat(": ", CauseText(job.cause())) : ""));
}

}  // namespace

absl::StatusOr<ObservedTraining> TrainObserved(const v1::JobSpec& spec,
                                               const TrainingGround& ground) {
  if (spec.has_trace()) {
    std::error_code error;
    std::filesystem::create_directories(spec.trace().dir(), error);
    if (error) {
      return absl::NotFoundError(absl::StrCat(spec.trace().dir(), ": ", error.message()));
    }
  }
  const auto job = TrainToEnd(spec, ground);
  if (!job.ok()) return job.status();
  if (job->state() != v1::JOB_STATE_SUCCEEDED && !RanksDisagree(*job)) return Failure(*job);
  auto run = Collect(*job, spec, ground.connection);
  if (!run.ok()) return run.status();
  return ObservedTraining{*job, *std::move(run)};
}

}  // namespace tandem::client
