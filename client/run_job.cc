#include "client/run_job.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/follow.h"
#include "client/live_logs.h"
#include "client/progress.h"

namespace tandem::client {
namespace {

// One run, from the connection to the summary.
class Run {
 public:
  Run(Context* context, Interrupts* interrupts, const LocalCluster* cluster,
      RankOutput::Options output)
      : context_(*context),
        interrupts_(*interrupts),
        cluster_(cluster),
        output_(std::move(output), &context->console, &progress_) {}

  absl::StatusOr<ExitCode> Execute(const v1::JobSpec& spec) {
    auto connection = Connect();
    if (!connection.ok()) return connection.status();
    const auto submitted = (*connection)->Submit(spec);
    if (!submitted.ok()) return submitted.status();
    output_.SetJob(submitted->id());
    auto job = FollowWithOutput(connection->get(), submitted->id());
    if (!job.ok()) return job.status();
    progress_.Clear();
    const ExitCode code = Report(*job);
    const absl::Status written = output_.status();
    return written.ok() ? absl::StatusOr<ExitCode>(code) : written;
  }

 private:
  absl::StatusOr<std::unique_ptr<Connection>> Connect() const {
    if (cluster_ == nullptr) return context_.Connect();
    Connection::Options options;
    options.address = cluster_->address();
    return Connection::Open(options);
  }

  FollowOptions Patience() const {
    FollowOptions options;
    // Our own coordinator does not come back.
    if (cluster_ != nullptr) options.patience = absl::ZeroDuration();
    return options;
  }

  absl::StatusOr<v1::Job> FollowWithOutput(Connection* connection, const std::string& job_id) {
    if (!output_.IsWanted()) return FollowToEnd(connection, job_id);
    auto for_logs = Connect();
    if (!for_logs.ok()) return for_logs.status();
    const LiveLogs logs(*std::move(for_logs), job_id, Patience(),
                        [this](const v1::StreamLogsResponse& lines) { Show(lines); });
    auto job = FollowToEnd(connection, job_id);
    if (job.ok()) logs.Finish(interrupts_, handled_);
    return job;
  }

  absl::StatusOr<v1::Job> FollowToEnd(Connection* connection, const std::string& job_id) {
    FollowOptions options = Patience();
    options.limits.interrupts = &interrupts_;
    while (true) {
      options.limits.handled = handled_;
      auto job = Follow(
          connection, job_id, options, [&](const v1::Job& job) { progress_.Update(Shown(job)); },
          [&](const std::string& trouble) { progress_.Remark(trouble); });
      if (job.ok()) return job;
      const absl::Status failure = cluster_ == nullptr ? absl::OkStatus() : cluster_->Failure();
      if (!failure.ok()) return failure;
      if (!absl::IsCancelled(job.status())) return job.status();
      progress_.Leave();
      if (handled_ > 0) return Left(job_id);
      handled_ = 1;
      context_.console.RemarkAfterInterrupt(
          absl::StrCat("cancelling ", job_id, "; Ctrl-C again leaves at once"));
      const auto cancelled = connection->Cancel(job_id);
      // Ended meanwhile: its last state says the rest.
      if (!cancelled.ok() && !absl::IsFailedPrecondition(cancelled.status())) {
        return cancelled.status();
      }
    }
  }

  // Where nobody reads any more (`| head`), nobody waits for the job either: as if interrupted.
  void Show(const v1::StreamLogsResponse& lines) {
    output_.Take(lines);
    const bool is_closed = context_.console.output_closed();
    if (is_closed && !std::exchange(reader_has_left_, true)) interrupts_.Notify();
  }

  // Our own worker needs a moment to connect, which is no news.
  v1::Job Shown(v1::Job job) const {
    if (cluster_ != nullptr) job.clear_waiting_reason();
    return job;
  }

  absl::Status Left(const std::string& job_id) const {
    return absl::CancelledError(
        cluster_ == nullptr ? absl::StrCat("interrupted; ", job_id, " is still being cancelled")
                            : "interrupted");
  }

  ExitCode Report(const v1::Job& job) {
    context_.Answer(job, [&] { return FormatSummary(job, context_.ViewOfNow()); });
    if (context_.console.settings().json && job.state() == v1::JOB_STATE_FAILED) {
      context_.console.Remark(absl::StrCat(job.id(), ": ", job.cause().message()));
    }
    return handled_ > 0 ? ExitCode::kInterrupted : ExitCodeOf(job.state());
  }

  Context& context_;
  Interrupts& interrupts_;
  const LocalCluster* cluster_;
  SystemClock clock_;
  Progress progress_{&context_.console, &clock_};
  bool reader_has_left_ = false;
  RankOutput output_;
  int handled_ = 0;
};

}  // namespace

absl::StatusOr<ExitCode> RunJob(Context* context, Interrupts* interrupts, RunRequest request) {
  return Run(context, interrupts, request.cluster, std::move(request.output)).Execute(request.spec);
}

}  // namespace tandem::client
