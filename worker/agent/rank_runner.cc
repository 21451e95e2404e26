#include "worker/agent/rank_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/message_channel.h"
#include "common/print_stacks.h"
#include "common/proto_time.h"
#include "common/slot_request.h"
#include "worker/process/process_stat.h"

namespace tandem::agent {
namespace {

// A trainer closes its channel by exiting. One that closes it and lives on can no longer report
// anything.
constexpr absl::Duration kSilencePatience = absl::Seconds(2);
// For printing the stacks of all threads.
constexpr absl::Duration kStacksPatience = absl::Seconds(2);
constexpr absl::Duration kStacksPoll = absl::Milliseconds(10);

struct Pipe {
  FileDescriptor read, write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The descriptors of a new trainer: the ends that it inherits, and those that the agent keeps.
struct Plumbing {
  FileDescriptor null_input;
  Pipe out, err;
  FileDescriptor agent_end, trainer_end;
};

absl::StatusOr<Plumbing> MakePlumbing() {
  FileDescriptor null_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null_input.valid()) return absl::ErrnoToStatus(errno, "open /dev/null");
  auto out = MakePipe();
  if (!out.ok()) return out.status();
  auto err = MakePipe();
  if (!err.ok()) return err.status();
  auto sockets = MakeSocketPair();
  if (!sockets.ok()) return sockets.status();
  return Plumbing{std::move(null_input), *std::move(out), *std::move(err),
                  std::move(sockets->first), std::move(sockets->second)};
}

absl::Duration GraceOf(const v1::JobSpec& spec, const RankOptions& options) {
  return spec.has_command() ? FromProto(spec.command().stop_grace()) : options.kill_grace;
}

std::vector<std::string> EnvironmentOf(const v1::Prepare& prepare) {
  std::vector<std::string> environment = {
      // For libraries that read their thread count before the trainer can set it.
      absl::StrCat("OMP_NUM_THREADS=", prepare.spec().threads_per_rank()),
      absl::StrCat("MKL_NUM_THREADS=", prepare.spec().threads_per_rank()),
      absl::StrCat("TANDEM_JOB_ID=", prepare.job_id()),
      absl::StrCat("TANDEM_ATTEMPT=", prepare.attempt()),
      absl::StrCat("TANDEM_RANK=", prepare.rank())};
  for (const v1::EnvironmentVariable& variable : prepare.device_environment()) {
    environment.push_back(absl::StrCat(variable.name(), "=", variable.value()));
  }
  return environment;
}

// What was set for a trainer's device, in one line. A program's is in the header of its launcher.
std::string DeviceNote(const v1::Prepare& prepare) {
  if (prepare.spec().has_command() || KindOfSlot(prepare.slot()) == kCpuKind) return "";
  std::string note = absl::StrCat("tandem-worker: slot ", prepare.slot(), ", with");
  for (const v1::EnvironmentVariable& variable : prepare.device_environment()) {
    absl::StrAppend(&note, " ", variable.name(), "=", variable.value());
  }
  return note;
}

Command MakeCommand(const RankOptions& options, const v1::Prepare& prepare,
                    const Plumbing& plumbing, const ProgressPage& page) {
  return {.path = prepare.spec().has_command() ? options.command_path : options.trainer_path,
          .arguments = {"--agent-fd", "3", "--progress-fd", "4"},
          .environment = EnvironmentOf(prepare),
          .descriptors = {plumbing.null_input.get(), plumbing.out.write.get(),
                          plumbing.err.write.get(), plumbing.trainer_end.get(), page.fd()}};
}

// A crash may take its time, to write a core file, and be told to stop meanwhile: it stays a crash.
bool Crashed(ExitStatus status) {
  return status.signal != 0 && status.signal != SIGTERM && status.signal != SIGKILL;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankRunner>> RankRunner::Start(Context context,
                                                              const v1::Prepare& prepare,
                                                              std::function<void()> on_exited) {
  auto page = ProgressPage::Create();
  if (!page.ok()) return page.status();
  page->Set({.step = 0, .phase = v1::PHASE_PREPARE});
  std::unique_ptr<RankRunner> runner(
      new RankRunner(std::move(context), prepare, *std::move(page), std::move(on_exited)));
  if (absl::Status launched = runner->Launch(prepare); !launched.ok()) return launched;
  return runner;
}

RankRunner::RankRunner(Context context, const v1::Prepare& prepare, ProgressPage page,
                       std::function<void()> on_exited)
    : context_(std::move(context)),
      key_(KeyOf(prepare)),
      slot_(prepare.slot()),
      stops_without_coordinator_(prepare.spec().on_coordinator_loss() == v1::COORDINATOR_LOSS_STOP),
      grace_(GraceOf(prepare.spec(), *context_.options)),
      on_exited_(std::move(on_exited)),
      page_(std::move(page)) {}

absl::Status RankRunner::Launch(const v1::Prepare& prepare) {
  auto plumbing = MakePlumbing();
  if (!plumbing.ok()) return plumbing.status();
  auto process =
      ChildProcess::Start(context_.loop, MakeCommand(*context_.options, prepare, *plumbing, page_),
                          [this](ExitStatus status) { OnGone(status); });
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  logs_ = std::make_unique<LogCollector>(
      context_.loop, context_.clock, context_.options->logs, key_,
      LogCollector::Pipes{std::move(plumbing->out.read), std::move(plumbing->err.read)},
      [this](v1::RankLog log) { OnLog(std::move(log)); });
  if (const std::string note = DeviceNote(prepare); !note.empty()) logs_->Note(note);
  channel_ = std::make_unique<TrainerChannel>(
      context_.loop, std::move(plumbing->agent_end),
      [this](const v1::TrainerToAgent& message) { OnMessage(message); },
      [this](const absl::Status& reason) { OnChannelClosed(reason); });
  v1::AgentToTrainer first;
  *first.mutable_prepare() = prepare;
  return channel_->Send(first);
}

void RankRunner::Train(const v1::Start& start) {
  if (std::exchange(started_, true)) return;
  v1::AgentToTrainer message;
  *message.mutable_start() = start;
  Tell(message);
}

void RankRunner::Pause() {
  v1::AgentToTrainer message;
  message.mutable_pause();
  Tell(message);
}

void RankRunner::Tell(const v1::AgentToTrainer& message) {
  const absl::Status sent = channel_->Send(message);
  if (!sent.ok()) Fail(v1::CAUSE_CODE_RANK_ERROR, std::string(sent.message()));
}

void RankRunner::Stop(bool print_stacks) {
  // One that had ended by itself before it was told to keeps its own exit: it may be the first
  // cause.
  if (process_->HasEnded()) return;
  if (ProgramHasFailed()) return Terminate();
  const bool again = std::exchange(aborted_, true);
  if (stacks_timer_.active()) return;
  if (!print_stacks || again) return Terminate();
  const auto stat = ReadProcessStat(process_->pid());
  AskForStacks(process_->pid(), stat.has_value() && stat->state == v1::PROCESS_STATE_STOPPED);
  TerminateAfterStacks(absl::ZeroDuration());
}

bool RankRunner::ProgramHasFailed() const {
  const pid_t program = page_.process();
  if (page_.has_failed() || program == 0) return page_.has_failed();
  const auto stat = ReadProcessStat(program);
  return !stat.has_value() || stat->is_exiting;
}

void RankRunner::TerminateAfterStacks(absl::Duration waited) {
  const auto& lines = logs_->last_stderr_lines();
  const bool printed = !lines.empty() && lines.back() == kEndOfStacks;
  if (printed || waited >= kStacksPatience) {
    stacks_timer_.Reset();
    return Terminate();
  }
  stacks_timer_ = context_.loop->After(
      kStacksPoll, [this, waited] { TerminateAfterStacks(waited + kStacksPoll); });
}

void RankRunner::Leave(const std::string& why) {
  if (process_->HasEnded()) return;
  aborted_ = true;
  Fail(v1::CAUSE_CODE_WORKER_LOST, why);
}

v1::RankPosition RankRunner::Position() const {
  v1::RankPosition rank;
  SetKey(key_, &rank);
  const ProgressPage::Position position = page_.Get();
  rank.set_step(position.step);
  rank.set_phase(position.phase);
  const pid_t program = page_.process();
  rank.set_pid(program);
  if (const auto stat = ReadProcessStat(program == 0 ? process_->pid() : program)) {
    rank.set_process(stat->state);
    *rank.mutable_cpu_time() = ToProto(stat->cpu_time);
  }
  return rank;
}

void RankRunner::Fail(v1::CauseCode code, const std::string& why) {
  v1::RankFailure failure;
  failure.set_code(code);
  failure.set_message(why);
  if (!failure_.has_value()) failure_ = failure;
  Terminate();
}

void RankRunner::OnMessage(const v1::TrainerToAgent& message) {
  v1::WorkerToCoordinator report;
  SetKey(key_, report.mutable_rank_report());
  switch (message.kind_case()) {
    case v1::TrainerToAgent::kPrepared:
      return OnPrepared(message.prepared());
    case v1::TrainerToAgent::kProgress:
      *report.mutable_rank_report()->mutable_progress() = message.progress();
      break;
    case v1::TrainerToAgent::kFinished:
      OnFinished();
      *report.mutable_rank_report()->mutable_finished() = message.finished();
      break;
    case v1::TrainerToAgent::kFailure:
      OnFailure(message.failure());
      *report.mutable_rank_report()->mutable_failure() = message.failure();
      break;
    case v1::TrainerToAgent::kPaused:
      OnFinished();
      *report.mutable_rank_report()->mutable_paused() = message.paused();
      break;
    case v1::TrainerToAgent::KIND_NOT_SET:
      return Fail(v1::CAUSE_CODE_RANK_ERROR, "the trainer sent a message of a kind unknown here");
  }
  context_.send(std::move(report));
}

void RankRunner::OnPrepared(const v1::Prepared& prepared) {
  v1::WorkerToCoordinator message;
  SetKey(key_, message.mutable_rank_prepared());
  message.mutable_rank_prepared()->set_pid(process_->pid());
  *message.mutable_rank_prepared()->mutable_prepared() = prepared;
  context_.send(std::move(message));
}

void RankRunner::OnFinished() {
  finished_ = true;
  exit_timer_ =
      context_.loop->After(context_.options->exit_grace, [this] { Stop(/*print_stacks=*/false); });
}

void RankRunner::OnFailure(const v1::RankFailure& failure) {
  if (!failure_.has_value()) failure_ = failure;
  // Ahead of the report, which does not say where it happened.
  SendPosition();
}

void RankRunner::SendPosition() {
  v1::WorkerToCoordinator message;
  *message.mutable_heartbeat()->add_ranks() = Position();
  context_.send(std::move(message));
}

void RankRunner::OnChannelClosed(const absl::Status& reason) {
  channel_closed_ = true;
  if (gone_.has_value()) return Conclude();
  const std::string why = absl::StrCat("rank ", key_.rank.value(),
                                       " broke off its channel to the agent: ", reason.message());
  if (!absl::IsOutOfRange(reason)) return Fail(v1::CAUSE_CODE_RANK_ERROR, why);
  silence_timer_ = context_.loop->After(kSilencePatience, [this, why] {
    if (!finished_) Fail(v1::CAUSE_CODE_RANK_ERROR, why + ", and went on running");
  });
}

void RankRunner::OnLog(v1::RankLog log) {
  v1::WorkerToCoordinator message;
  *message.mutable_rank_log() = std::move(log);
  context_.send(std::move(message));
}

void RankRunner::OnGone(ExitStatus status) {
  channel_->Drain();
  gone_ = status;
  exit_timer_.Reset();
  stacks_timer_.Reset();
  if (channel_closed_) return Conclude();
  // Whatever cleans up behind a command is still there, and nothing of it is to be left.
  silence_timer_ = context_.loop->After(kSilencePatience, [this] { Conclude(); });
}

void RankRunner::Conclude() {
  silence_timer_.Reset();
  logs_->Drain();
  SendExited(*gone_);
  on_exited_();
}

void RankRunner::SendExited(ExitStatus status) {
  v1::WorkerToCoordinator message;
  v1::RankExited* exited = message.mutable_rank_exited();
  SetKey(key_, exited);
  exited->set_exit_code(status.code);
  exited->set_signal(status.signal);
  // A crash after a failure was reported is only how that rank came to its end.
  const bool died_by_itself = Crashed(status) && !failure_.has_value();
  exited->set_aborted(aborted_ && !died_by_itself);
  exited->set_step(page_.Get().step);
  exited->set_phase(page_.Get().phase);
  for (const std::string& line : logs_->last_stderr_lines()) exited->add_last_lines(line);
  if (failure_.has_value()) *exited->mutable_failure() = *failure_;
  context_.send(std::move(message));
}

}  // namespace tandem::agent
