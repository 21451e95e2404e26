#include "worker/command/launcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/print_stacks.h"
#include "worker/command/descendants.h"
#include "worker/command/ending.h"
#include "worker/command/header.h"
#include "worker/command/port_holder.h"
#include "worker/command/report_collector.h"
#include "worker/command/report_forwarder.h"
#include "worker/command/store_process.h"
#include "worker/command/thread_states.h"

namespace tandem::command {
namespace {

constexpr ExitStatus kFailed = {.code = 1};
constexpr absl::Duration kSweepPoll = absl::Milliseconds(2);
// For a program that prints its stacks itself.
constexpr absl::Duration kStacksPatience = absl::Milliseconds(200);

v1::CauseCode CodeOf(const absl::Status& status) {
  const bool may_heal = absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  return may_heal ? v1::CAUSE_CODE_RANK_ERROR : v1::CAUSE_CODE_BAD_INPUT;
}

std::string HowItEnded(ExitStatus status) {
  if (status.signal != 0) return absl::StrCat("was killed by signal ", status.signal);
  return absl::StrCat("exited with code ", status.code);
}

}  // namespace

Launcher::Launcher(Context context) : context_(std::move(context)), loop_(*context_.loop) {}

ExitStatus Launcher::Run() {
  auto signals = Signals::Create(&loop_, [this](int signal) { OnSignal(signal); });
  if (!signals.ok()) {
    std::cerr << "tandem-command: " << signals.status().message() << std::endl;
    return kFailed;
  }
  signals_ = *std::move(signals);
  agent_ = std::make_unique<FrameChannel<v1::AgentToTrainer>>(
      &loop_, std::move(context_.agent),
      [this](const v1::AgentToTrainer& message) { OnMessage(message); },
      [this](const absl::Status&) { OnAgentGone(); });
  loop_.Run();
  return result_;
}

void Launcher::OnMessage(const v1::AgentToTrainer& message) {
  if (message.has_prepare()) Prepare(message.prepare());
  if (message.has_start()) Start(message.start());
  if (message.has_pause()) Pause();
}

void Launcher::Prepare(const v1::Prepare& prepare) {
  prepare_ = prepare;
  v1::TrainerToAgent message;
  if (prepare_.rank() == 0) {
    if (absl::Status held = HoldPorts(message.mutable_prepared()); !held.ok()) {
      const bool is_taken = absl::IsAlreadyExists(held);
      return Fail(is_taken ? v1::CAUSE_CODE_PORT_TAKEN : CodeOf(held), held.message());
    }
  }
  message.mutable_prepared();
  Send(message);
}

absl::Status Launcher::HoldPorts(v1::Prepared* prepared) {
  const v1::Command& command = prepare_.spec().command();
  if (command.has_parse()) {
    auto parser = LossParser::Create(command.parse());
    if (!parser.ok()) return parser.status();
    parser_.emplace(*std::move(parser));
  }
  auto master_port = HoldMasterPort();
  if (!master_port.ok()) return master_port.status();
  auto report_port = ListenOn(prepare_.advertise_address(), /*port=*/0);
  if (!report_port.ok()) return report_port.status();
  master_port_ = *std::move(master_port);
  prepared->set_master_port(master_port_.port);
  prepared->set_report_port(report_port->port);
  route_ = std::make_unique<ReportCollector>(&loop_, Self(), prepare_.world_size(),
                                             *std::move(report_port),
                                             [this](const v1::RankProgress& progress) {
                                               v1::TrainerToAgent message;
                                               *message.mutable_progress() = progress;
                                               Send(message);
                                             });
  return absl::OkStatus();
}

absl::StatusOr<HeldPort> Launcher::HoldMasterPort() {
  const v1::Command& command = prepare_.spec().command();
  const auto hold = [this](uint16_t port) {
    return HostsStore() ? ListenOn(prepare_.advertise_address(), port) : ReservePort(port);
  };
  absl::StatusOr<HeldPort> held = hold(static_cast<uint16_t>(command.master_port()));
  if (!absl::IsAlreadyExists(held.status())) return held;
  if (!command.any_port()) {
    return absl::AlreadyExistsError(
        absl::StrCat("command.master_port: ", held.status().message(),
                     "; leave the key out, or set command.any_port, to meet on a free one"));
  }
  std::cerr << "tandem-command: " << held.status().message() << "; the ranks meet on another one"
            << std::endl;
  return hold(/*port=*/0);
}

void Launcher::Start(const v1::Start& start) {
  if (state_ != State::kWaiting) return;
  PrintHeader(prepare_, start, std::cerr);
  state_ = State::kRunning;
  absl::Status started =
      HostsStore() && prepare_.rank() == 0 ? StartHostedStore() : absl::OkStatus();
  if (started.ok()) started = ConnectReports(start);
  if (started.ok()) started = StartProgram(start);
  if (!started.ok()) return Fail(CodeOf(started), started.message());
  context_.page.Set({});
  context_.page.SetProcess(program_->pid());
  if (pause_wanted_) program_->AskToStop();
}

absl::Status Launcher::StartHostedStore() {
  const absl::StatusOr<pid_t> store = StartStore(master_port_.socket.get());
  if (store.ok()) store_ = *store;
  return store.status();
}

absl::Status Launcher::ConnectReports(const v1::Start& start) {
  if (prepare_.rank() == 0) return absl::OkStatus();
  auto forwarder = ReportForwarder::Connect(&loop_, Self(), start.master_address(),
                                            static_cast<uint16_t>(start.report_port()));
  if (forwarder.ok()) {
    route_ = *std::move(forwarder);
  }
  return forwarder.status();
}

absl::Status Launcher::StartProgram(const v1::Start& start) {
  Program::Listeners listeners;
  listeners.on_report = [this](const v1::StepReport& report) { OnReport(report); };
  if (parser_) listeners.on_stdout_line = [this](const std::string& l) { OnStdoutLine(l); };
  Program::Place place{.group = context_.group};
  if (prepare_.rank() == 0 && !HostsStore()) {
    listeners.on_stderr_line = [this](const std::string& line) { OnStderrLine(line); };
    place.held_until_exec = std::move(master_port_.socket);
  }
  auto program = Program::Start(&loop_, prepare_, start, std::move(listeners), std::move(place));
  if (program.ok()) program_ = *std::move(program);
  return program.status();
}

void Launcher::Pause() {
  if (std::exchange(pause_wanted_, true) || state_ != State::kRunning) return;
  program_->AskToStop();
}

void Launcher::OnSignal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return ReapChildren();
    case kPrintStacksSignal:
      return PrintStacks();
    default:
      return OnTerminate(signal);
  }
}

void Launcher::ReapChildren() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (program_ && pid == program_->pid()) OnProgramEnded(ExitStatusOf(status));
    if (pid == store_) OnStoreEnded(ExitStatusOf(status));
  }
}

void Launcher::OnTerminate(int signal) {
  if (getppid() != context_.keeper) return SweepThen([this] { End(kFailed); });
  // The program has been sent it as well, and decides itself when it ends.
  if (state_ == State::kRunning || state_ == State::kSweeping) return;
  SweepThen([this, signal] { End({.signal = signal}); });
}

void Launcher::PrintStacks() {
  if (state_ != State::kRunning || !CatchesSignal(program_->pid(), kPrintStacksSignal)) {
    return DescribeProgram();
  }
  kill(program_->pid(), kPrintStacksSignal);
  stacks_timer_ = loop_.After(kStacksPatience, [this] { DescribeProgram(); });
}

void Launcher::DescribeProgram() {
  if (state_ == State::kRunning) std::cerr << DescribeThreads(program_->pid());
  std::cerr << kEndOfStacks << std::endl;
}

void Launcher::OnReport(const v1::StepReport& report) {
  last_step_ = report.step();
  context_.page.Set({.step = last_step_, .phase = v1::PHASE_COMMAND});
  route_->Report(report);
}

void Launcher::OnStdoutLine(const std::string& line) {
  const auto report = parser_->Add(line);
  if (!report.ok()) {
    std::cerr << "tandem-command: " << report.status().message() << std::endl;
  } else if (report->has_value()) {
    OnReport(**report);
  }
}

void Launcher::OnStderrLine(const std::string& line) {
  if (absl::StrContains(absl::AsciiStrToLower(line), "address already in use"))
    found_port_taken_ = true;
}

void Launcher::OnProgramEnded(ExitStatus status) {
  program_status_ = status;
  context_.page.SetProcess(0);
  // Else it was killed in a sweep, whose reason stays.
  if (state_ == State::kRunning) SweepThen([this] { Conclude(); });
}

void Launcher::OnStoreEnded(ExitStatus status) {
  const pid_t pid = std::exchange(store_, 0);
  const bool is_only_left = state_ == State::kSweeping && program_status_.code != 0;
  if (state_ == State::kEnded || is_only_left) return;
  Fail(v1::CAUSE_CODE_RANK_ERROR,
       absl::StrCat("the store on which the ranks meet (tandem-store, pid ", pid, ") ",
                    HowItEnded(status)));
}

void Launcher::OnAgentGone() {
  if (state_ != State::kEnded) SweepThen([this] { End(kFailed); });
}

void Launcher::Fail(v1::CauseCode code, absl::string_view message) {
  if (std::exchange(has_failed_, true)) return;
  v1::TrainerToAgent failed;
  failed.mutable_failure()->set_code(code);
  failed.mutable_failure()->set_message(std::string(message));
  Send(failed);
  SweepThen([this] { End(kFailed); });
}

void Launcher::SweepThen(std::function<void()> then) {
  state_ = State::kSweeping;
  after_sweep_ = std::move(then);
  if (!sweep_timer_.active()) Sweep();
}

void Launcher::Sweep() {
  if (!KillDescendants(store_)) return std::exchange(after_sweep_, nullptr)();
  sweep_timer_ = loop_.After(kSweepPoll, [this] { Sweep(); });
}

void Launcher::Conclude() {
  program_->Drain();
  if (program_status_.code == 0 && program_status_.signal == 0) {
    state_ = State::kFinishing;
    context_.page.Set({.step = last_step_, .phase = v1::PHASE_DONE});
    return route_->Finish([this] { TellFinished(); });
  }
  route_->Flush();
  TellCause();
  End(program_status_);
}

void Launcher::TellCause() {
  v1::TrainerToAgent message;
  if (auto written = program_->WrittenError()) {
    *message.mutable_failure() = *std::move(written);
  } else if (found_port_taken_) {
    message.mutable_failure()->set_code(v1::CAUSE_CODE_PORT_TAKEN);
    message.mutable_failure()->set_message(absl::StrCat("the program of rank 0 found port ",
                                                        master_port_.port, " taken by ",
                                                        DescribePortHolder(master_port_.port)));
  } else {
    return;
  }
  Send(message);
}

void Launcher::TellFinished() {
  v1::TrainerToAgent message;
  if (pause_wanted_) {
    message.mutable_paused()->set_step(last_step_);
  } else {
    message.mutable_finished();
  }
  Send(message);
  End(program_status_);
}

void Launcher::End(ExitStatus status) {
  state_ = State::kEnded;
  result_ = status;
  agent_->Flush();
  if (store_ != 0) {
    kill(store_, SIGKILL);
    waitpid(store_, nullptr, 0);
  }
  loop_.Stop();
}

void Launcher::Send(const v1::TrainerToAgent& message) {
  // Only what is too long is refused; what the agent must know is short.
  agent_->Send(message).IgnoreError();
}

v1::ReportHello Launcher::Self() const {
  v1::ReportHello self;
  self.set_job_id(prepare_.job_id());
  self.set_attempt(prepare_.attempt());
  self.set_rank(prepare_.rank());
  return self;
}

bool Launcher::HostsStore() const {
  return prepare_.spec().command().store() != v1::RENDEZVOUS_STORE_NONE;
}

}  // namespace tandem::command
