// `tandem describe`: everything about one job.
#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/job_text.h"
#include "common/proto_time.h"
#include "common/spec/yaml_writer.h"

namespace tandem::client {
namespace {

std::string PhaseText(v1::Phase phase) {
  constexpr size_t kPrefix = sizeof("PHASE_") - 1;
  const std::string& name = v1::Phase_Name(phase);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : "";
}

std::string TimeText(bool known, const google::protobuf::Timestamp& time, const View& view) {
  return known ? absl::FormatTime("%Y-%m-%d %H:%M:%E3S %Z", FromProto(time), view.zone) : "";
}

// "560 of 1120", or "560" where nobody knows how many there will be, with where it went on from a checkpoint.
std::string StepText(const v1::Job& job) {
  if (job.step() == 0 && job.spec().has_command()) return "none reported";
  std::string text = job.total_steps() == 0 ? absl::StrCat(job.step())
                                            : absl::StrCat(job.step(), " of ", job.total_steps());
  if (job.first_step() <= 1) return text;
  return absl::StrCat(text, ", resumed after step ", job.first_step() - 1);
}

// "bitwise", "none (unsafe.order_by_rank)".
std::string LevelText(const v1::Receipt& receipt) {
  constexpr size_t kPrefix = sizeof("EQUIVALENCE_LEVEL_") - 1;
  const std::string& name = v1::EquivalenceLevel_Name(receipt.level());
  if (name.size() <= kPrefix) return "";
  const std::string level = absl::AsciiStrToLower(name.substr(kPrefix));
  return receipt.reason().empty() ? level : absl::StrCat(level, " (", receipt.reason(), ")");
}

// Enough of a digest to tell two jobs apart at a glance; -o json has all of it.
std::string ReceiptText(const v1::Receipt& receipt) {
  constexpr size_t kPrefix = 12;
  if (receipt.step() == 0) return "";
  std::string text = absl::StrFormat("%016x at step %u", receipt.digest(), receipt.step());
  if (!receipt.parameter_digest().empty()) {
    absl::StrAppend(&text, ", parameters ", receipt.parameter_digest().substr(0, kPrefix),
                    " at step ", receipt.parameter_step());
  }
  return text;
}

std::string Facts(const v1::Job& job, const View& view) {
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const std::string& what, const std::string& text) {
    if (!text.empty()) rows.push_back({{what}, {text}});
  };
  rows.push_back({{"state"}, {StateText(job.state()), StateColor(job.state())}});
  add("id", job.id());
  add("name", job.name());
  add("command", CommandText(job));
  add("waits", job.waiting_reason());
  add("attempt", absl::StrCat(job.attempt()));
  if (job.failures() > 0) {
    add("failures", absl::StrCat(job.failures(), " since the last checkpoint; at most ",
                                 job.spec().restart().max(), " are followed by another attempt"));
  }
  add("starts again", TimeText(job.has_restart_at(), job.restart_at(), view));
  add("world size", WorldSizeText(job));
  if (job.spec().priority() != 0) add("priority", absl::StrCat(job.spec().priority()));
  add("logical ranks", absl::StrCat(job.logical_ranks()));
  if (job.has_receipt()) add("equivalence", LevelText(job.receipt()));
  add("step", StepText(job));
  if (EpochIsKnown(job)) add("epoch", EpochText(job));
  if (job.has_loss()) add("loss", LossText(job.loss()));
  if (job.has_evaluation()) add("held out", EvaluationText(job.evaluation()));
  if (job.steps_per_second() > 0) add("speed", RateText(job.steps_per_second()));
  add("parameters", job.parameter_digest());
  add("receipt", ReceiptText(job.receipt()));
  if (job.has_checkpoint()) {
    add("checkpoint", absl::StrCat(job.checkpoint().path(), " at step ", job.checkpoint().step()));
  }
  if (job.master_port() != 0) add("master port", absl::StrCat(job.master_port()));
  add("nccl id", job.nccl_fingerprint());
  add("submitted", TimeText(job.has_submitted_at(), job.submitted_at(), view));
  add("started", TimeText(job.has_started_at(), job.started_at(), view));
  add("ended", TimeText(job.has_ended_at(), job.ended_at(), view));
  if (job.has_time_to_first_step()) {
    add("first step",
        absl::StrCat(DurationText(FromProto(job.time_to_first_step())), " after submission"));
  }
  return FormatTable(rows, view.color);
}

std::string StepsText(const v1::AttemptStatus& attempt) {
  if (attempt.first_step() == 0) return "none";
  return absl::StrCat(attempt.first_step(), "-", attempt.last_step());
}

std::string EndText(const v1::Job& job, const v1::AttemptStatus& attempt) {
  const std::string& why = attempt.cause().message();
  if (!attempt.has_ended_at()) return why.empty() ? "goes on" : absl::StrCat("is ending: ", why);
  if (!why.empty()) return why;
  return job.state() == v1::JOB_STATE_CANCELLED ? "cancelled" : "finished";
}

std::vector<Cell> AttemptRow(const v1::Job& job, const v1::AttemptStatus& attempt,
                             const View& view) {
  const absl::Time started = FromProto(attempt.started_at());
  const absl::Time ended = attempt.has_ended_at() ? FromProto(attempt.ended_at()) : view.now;
  const bool failed = attempt.has_cause() && !IsPlanned(attempt.cause().code());
  return {{absl::StrCat(attempt.number())},
          {absl::StrCat(attempt.world_size())},
          {StepsText(attempt)},
          {attempt.has_pause() ? DurationText(FromProto(attempt.pause())) : ""},
          {absl::FormatTime("%Y-%m-%d %H:%M:%S", started, view.zone)},
          {DurationText(std::max(absl::ZeroDuration(), ended - started))},
          {EndText(job, attempt), failed ? Color::kRed : Color::kNone}};
}

// One line for each attempt, where there was more than one.
std::string Timeline(const v1::Job& job, const View& view) {
  if (job.attempt() < 2) return "";
  std::vector<std::vector<Cell>> rows = {
      {{"ATTEMPT"}, {"WORKERS"}, {"STEPS"}, {"PAUSE"}, {"STARTED"}, {"TOOK"}, {"END"}}};
  uint32_t before = 0;
  for (const v1::AttemptStatus& attempt : job.attempts()) {
    // Of many, those that followed the first are forgotten.
    if (attempt.number() > before + 1) rows.push_back({{"..."}});
    before = attempt.number();
    rows.push_back(AttemptRow(job, attempt, view));
  }
  return absl::StrCat("\n", FormatTable(rows, view.color));
}

// First to last: "0-3", or "2" alone.
std::string LogicalText(const v1::RankStatus& rank) {
  if (rank.logical_begin() >= rank.logical_end()) return "";
  const uint32_t last = rank.logical_end() - 1;
  if (rank.logical_begin() == last) return absl::StrCat(last);
  return absl::StrCat(rank.logical_begin(), "-", last);
}

std::string Ranks(const v1::Job& job, const View& view) {
  if (job.ranks().empty()) return "";
  std::vector<std::vector<Cell>> rows = {
      {{"RANK"}, {"WORKER"}, {"SLOT"}, {"PID"}, {"LOGICAL"}, {"STEP"}, {"PHASE"}}};
  for (const v1::RankStatus& rank : job.ranks()) {
    rows.push_back({{absl::StrCat(rank.rank())},
                    {rank.worker()},
                    {rank.slot()},
                    {rank.pid() == 0 ? "" : absl::StrCat(rank.pid())},
                    {LogicalText(rank)},
                    {absl::StrCat(rank.step())},
                    {PhaseText(rank.phase())}});
  }
  return absl::StrCat("\n", FormatTable(rows, view.color));
}

}  // namespace

std::string FormatDescription(const v1::Job& job, const View& view) {
  std::string text = Facts(job, view);
  if (job.has_cause()) {
    absl::StrAppend(&text, "\ncause of the end of attempt ", job.cause().attempt(), ": ",
                    FormatCause(job.cause()));
  }
  absl::StrAppend(&text, Timeline(job, view), Ranks(job, view));
  if (job.has_spec()) absl::StrAppend(&text, "\n", spec::WriteYaml(job.spec()));
  return text;
}

}  // namespace tandem::client
