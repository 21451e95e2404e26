#include "client/job_text.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/launcher_header.h"
#include "client/program/program_words.h"
#include "common/job_state.h"
#include "common/proto_time.h"
#include "common/world_size_bounds.h"

namespace tandem::client {
namespace {

std::string Progress(const v1::Job& job) {
  if (job.total_steps() == 0) return absl::StrCat(job.step());
  return absl::StrCat(job.step(), "/", job.total_steps());
}

std::string Loss(const v1::Job& job) { return job.has_loss() ? LossText(job.loss()) : ""; }

std::string Age(const v1::Job& job, const View& view) {
  return job.has_submitted_at() ? DurationText(view.now - FromProto(job.submitted_at())) : "";
}

std::vector<Cell> JobRow(const v1::Job& job, bool with_command, const View& view) {
  std::vector<Cell> row = {{job.id()},
                           {StateText(job.state()), StateColor(job.state())},
                           {absl::StrCat(job.world_size())},
                           {Progress(job)},
                           {Loss(job)},
                           {Age(job, view)}};
  constexpr size_t kMostInAList = 60;
  if (with_command) row.push_back({CommandText(job, kMostInAList)});
  return row;
}

std::string PaintedState(const v1::Job& job, const View& view) {
  return Paint(StateText(job.state()), view.color ? StateColor(job.state()) : Color::kNone);
}

absl::Duration TimeBetween(const google::protobuf::Timestamp& begin,
                           const google::protobuf::Timestamp& end) {
  // A wall clock may have been set back meanwhile.
  return std::max(absl::ZeroDuration(), FromProto(end) - FromProto(begin));
}

// Whether the first step that was timed is the last attempt's, and not one's before it.
bool FirstStepIsOfLastAttempt(const v1::Job& job) {
  return job.has_time_to_first_step() &&
         FromProto(job.submitted_at()) + FromProto(job.time_to_first_step()) >=
             FromProto(job.started_at());
}

// From the end of the first step on, so without the time that preparing took. None where there is
// too little to measure.
std::optional<double> MeanRate(const v1::Job& job) {
  constexpr absl::Duration kTelling = absl::Milliseconds(100);
  const uint64_t first = std::max<uint64_t>(job.first_step(), 1);
  if (job.step() <= first || !FirstStepIsOfLastAttempt(job)) return std::nullopt;
  const absl::Duration took =
      TimeBetween(job.submitted_at(), job.ended_at()) - FromProto(job.time_to_first_step());
  if (took < kTelling) return std::nullopt;
  return static_cast<double>(job.step() - first) / absl::ToDoubleSeconds(took);
}

// "1.2s, 812 steps/s, first step after 0.35s".
std::string Speed(const v1::Job& job) {
  if (!job.has_started_at() || !job.has_ended_at()) return "";
  std::string text = DurationText(TimeBetween(job.started_at(), job.ended_at()));
  if (job.attempt() > 1) absl::StrAppend(&text, " in attempt ", job.attempt());
  if (const auto rate = MeanRate(job)) absl::StrAppend(&text, ", ", RateText(*rate));
  if (FirstStepIsOfLastAttempt(job)) {
    absl::StrAppend(&text, ", first step after ",
                    DurationText(FromProto(job.time_to_first_step())));
  }
  return text;
}

// "1120/1120 on 2 workers"; of a program that reported none, only where.
std::string StepsOnWorkers(const v1::Job& job) {
  const bool has_steps = job.step() > 0 || !job.spec().has_command();
  return absl::StrCat(has_steps ? absl::StrCat(Progress(job), " ") : "", "on ", job.world_size(),
                      job.world_size() == 1 ? " worker" : " workers");
}

// A job that was started again has the cause of an attempt before; only of a failed one it is its own.
std::string CauseTitle(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_FAILED) return "cause: ";
  return absl::StrCat("attempt ", job.cause().attempt(), " failed: ");
}

bool OnlyRepeats(const std::string& line, const std::string& message) {
  return line == message || absl::EndsWith(line, absl::StrCat(": ", message));
}

}  // namespace

std::string StateText(v1::JobState state) {
  constexpr size_t kPrefix = sizeof("JOB_STATE_") - 1;
  const std::string& name = v1::JobState_Name(state);
  return name.size() > kPrefix ? name.substr(kPrefix) : absl::StrCat("state ", state);
}

Color StateColor(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_SUCCEEDED:
      return Color::kGreen;
    case v1::JOB_STATE_FAILED:
      return Color::kRed;
    case v1::JOB_STATE_CANCELLING:
    case v1::JOB_STATE_CANCELLED:
      return Color::kYellow;
    default:
      return Color::kNone;
  }
}

std::string LossText(double loss) { return absl::StrFormat("%.4g", loss); }

std::string DurationText(absl::Duration duration) {
  const bool is_short = duration < absl::Seconds(10);
  return absl::FormatDuration(
      absl::Trunc(duration, is_short ? absl::Milliseconds(10) : absl::Seconds(1)));
}

std::string RateText(double steps_per_second) {
  return absl::StrFormat("%.*f steps/s", steps_per_second < 10 ? 1 : 0, steps_per_second);
}

std::string EpochText(const v1::Job& job) {
  if (!job.spec().has_epochs()) return absl::StrCat(job.epoch() + 1);
  const uint64_t total = job.spec().epochs();
  return absl::StrCat(std::min(job.epoch() + 1, total), "/", total);
}

bool EpochIsKnown(const v1::Job& job) {
  return job.step() > 0 && (job.epoch() > 0 || !job.spec().has_command());
}

std::string EvaluationText(const v1::Evaluation& evaluation) {
  const std::string accuracy =
      evaluation.has_accuracy() ? absl::StrFormat(", accuracy %.2f %%", 100 * evaluation.accuracy())
                                : "";
  return absl::StrFormat("loss %s%s of %u samples at step %u", LossText(evaluation.loss()),
                         accuracy, evaluation.samples(), evaluation.step());
}

std::string CommandText(const v1::Job& job, size_t most) {
  const auto& argv = job.spec().command().argv();
  return ShellText({argv.begin(), argv.end()}, most);
}

std::string FormatJobList(const v1::ListJobsResponse& jobs, const View& view) {
  const bool with_commands =
      std::any_of(jobs.jobs().begin(), jobs.jobs().end(),
                  [](const v1::Job& job) { return job.spec().has_command(); });
  std::vector<std::vector<Cell>> rows = {
      {{"JOB"}, {"STATE"}, {"WORKERS"}, {"STEP"}, {"LOSS"}, {"AGE"}}};
  if (with_commands) rows.front().push_back({"COMMAND"});
  for (const v1::Job& job : jobs.jobs()) rows.push_back(JobRow(job, with_commands, view));
  return FormatTable(rows, view.color);
}

std::string WorldSizeText(const v1::Job& job) {
  const auto [min, max] = BoundsOf(job);
  const std::string now = absl::StrCat(job.world_size());
  if (min != max) return absl::StrCat(now, " (", min, " to ", max, ")");
  // A list has no specification.
  return max == job.world_size() || max == 0 ? now : absl::StrCat(now, " (", max, " wanted)");
}

bool IsPlanned(v1::CauseCode code) {
  return code == v1::CAUSE_CODE_RESIZED || code == v1::CAUSE_CODE_PREEMPTED ||
         code == v1::CAUSE_CODE_DRAINED || code == v1::CAUSE_CODE_COORDINATOR_RESTARTED;
}

std::string AttemptText(const v1::AttemptStatus& attempt) {
  std::string text = absl::StrCat("attempt ", attempt.number(), " on ", attempt.world_size(),
                                  attempt.world_size() == 1 ? " worker" : " workers");
  if (attempt.first_step() > 0) {
    absl::StrAppend(&text, ", steps ", attempt.first_step(), " to ", attempt.last_step());
  }
  if (!attempt.has_cause()) return text;
  absl::StrAppend(&text, IsPlanned(attempt.cause().code()) ? ", ended: " : ", failed: ",
                  attempt.cause().message());
  return text;
}

std::string FormatCause(const v1::Cause& cause) {
  std::string text = absl::StrCat(cause.message(), "\n");
  const auto& lines = cause.last_lines();
  const bool repeats = !lines.empty() && OnlyRepeats(*lines.rbegin(), cause.message());
  for (int i = HeaderLines(cause); i < lines.size() - (repeats ? 1 : 0); ++i) {
    absl::StrAppend(&text, "    ", lines[i], "\n");
  }
  return text;
}

std::string FormatStatus(const v1::Job& job, const View& view) {
  std::string text = absl::StrCat(job.id(), "  ", PaintedState(job, view));
  if (job.step() > 0) absl::StrAppend(&text, "  step ", Progress(job));
  if (EpochIsKnown(job)) absl::StrAppend(&text, "  epoch ", EpochText(job));
  if (job.has_loss()) absl::StrAppend(&text, "  loss ", Loss(job));
  text += '\n';
  if (job.spec().has_command()) absl::StrAppend(&text, "command: ", CommandText(job), "\n");
  const std::string size = WorldSizeText(job);
  const bool is_settled = HasEnded(job.state()) || size == absl::StrCat(job.world_size());
  if (!is_settled) absl::StrAppend(&text, "workers: ", size, "\n");
  if (!job.waiting_reason().empty()) absl::StrAppend(&text, "waits: ", job.waiting_reason(), "\n");
  if (!job.has_cause()) return text;
  // Of an earlier attempt, a line will do.
  const bool is_the_end = job.state() == v1::JOB_STATE_FAILED;
  absl::StrAppend(
      &text, CauseTitle(job),
      is_the_end ? FormatCause(job.cause()) : absl::StrCat(job.cause().message(), "\n"));
  return text;
}

std::string FormatSummary(const v1::Job& job, const View& view) {
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const std::string& what, const std::string& text) {
    if (!text.empty()) rows.push_back({{"", Color::kNone}, {what}, {text}});
  };
  if (job.spec().has_command()) add("command", CommandText(job));
  add(job.step() > 0 || !job.spec().has_command() ? "steps" : "ran", StepsOnWorkers(job));
  add("loss", Loss(job));
  if (job.has_evaluation()) add("held out", EvaluationText(job.evaluation()));
  add("time", Speed(job));
  if (!job.spec().has_command()) add("logical ranks", absl::StrCat(job.logical_ranks()));
  add("parameters", job.parameter_digest());
  add("checkpoint", job.checkpoint().path());
  std::string text = absl::StrCat(job.id(), "  ", PaintedState(job, view), "\n");
  text += FormatTable(rows, view.color);
  if (job.has_cause()) absl::StrAppend(&text, "  ", CauseTitle(job), FormatCause(job.cause()));
  return text;
}

}  // namespace tandem::client
