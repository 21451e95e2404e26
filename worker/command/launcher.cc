#include "worker/command/launcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/print_stacks.h"
#include "worker/command/ending.h"
#include "worker/command/header.h"
#include "worker/command/master_port.h"
#include "worker/command/report_collector.h"
#include "worker/command/report_forwarder.h"
#include "worker/command/report_token.h"
#include "worker/command/store_process.h"
#include "worker/command/thread_states.h"

namespace tandem::command {
namespace {

// For a program that prints its stacks itself.
constexpr absl::Duration kStacksPatience = absl::Milliseconds(200);

v1::CauseCode CodeOf(const absl::Status& status) {
  const bool may_heal = absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  return may_heal ? v1::CAUSE_CODE_RANK_ERROR : v1::CAUSE_CODE_BAD_INPUT;
}

}  // namespace

Launcher::Launcher(Context context) : context_(std::move(context)), loop_(*context_.loop) {}

ExitStatus Launcher::Run() {
  auto signals = Signals::Create(&loop_, [this](int signal) { OnSignal(signal); });
  if (!signals.ok()) {
    std::cerr << "tandem-command: " << signals.status().message() << std::endl;
    return kFailedExit;
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
  hosts_store_ = HostsStore(prepare_.spec().command());
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
  auto master_port = HoldMasterPort(prepare_);
  if (!master_port.ok()) return master_port.status();
  auto report_port = ListenOn(prepare_.advertise_address(), /*port=*/0);
  if (!report_port.ok()) return report_port.status();
  master_port_ = *std::move(master_port);
  prepared->set_master_port(master_port_.port);
  prepared->set_report_port(report_port->port);
  report_token_ = NewReportToken();
  prepared->set_report_token(report_token_);
  route_ = std::make_unique<ReportCollector>(&loop_, Self(), prepare_.world_size(),
                                             *std::move(report_port),
                                             [this](const v1::RankProgress& progress) {
                                               v1::TrainerToAgent message;
                                               *message.mutable_progress() = progress;
                                               Send(message);
                                             });
  return absl::OkStatus();
}

void Launcher::Start(const v1::Start& start) {
  if (state_ != State::kWaiting) return;
  PrintHeader(prepare_, start, std::cerr);
  state_ = State::kRunning;
  absl::Status started = absl::OkStatus();
  if (prepare_.rank() != 0) {
    report_token_ = start.report_token();
    route_ = std::make_unique<ReportForwarder>(&loop_, Self(), start.master_address(),
                                               static_cast<uint16_t>(start.report_port()));
  } else if (hosts_store_) {
    started = StartHostedStore();
  }
  if (started.ok()) started = StartProgram(start);
  if (!started.ok()) return Fail(CodeOf(started), started.message());
  context_.page.Set({});
  context_.page.SetProcess(program_->pid());
  if (pause_wanted_) program_->AskToStop();
}

absl::Status Launcher::StartHostedStore() {
  const absl::StatusOr<pid_t> store = StartStore(master_port_.socket.get());
  // Not for the user to mend.
  if (!store.ok()) return absl::UnavailableError(store.status().message());
  store_ = *store;
  return absl::OkStatus();
}

absl::Status Launcher::StartProgram(const v1::Start& start) {
  Program::Listeners listeners;
  listeners.on_report = [this](const v1::StepReport& report) { OnReport(report); };
  if (parser_) listeners.on_stdout_line = [this](const std::string& l) { OnStdoutLine(l); };
  Program::Place place{.group = context_.group};
  if (BindsMasterPort()) {
    listeners.on_stderr_line = [this](const std::string& line) { port_complaint_.Add(line); };
    place.held_until_exec = std::move(master_port_.socket);
  }
  auto program = Program::Start(&loop_, prepare_, start, std::move(listeners), std::move(place));
  if (!program.ok()) return program.status();
  program_ = *std::move(program);
  return absl::OkStatus();
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
  // The keeper is gone, of which SIGHUP tells: nobody else ends this rank.
  if (getppid() != context_.keeper) return SweepThen([this] { End(kFailedExit); });
  // Passed on by the keeper, as any of these signals that came to the group. The program is in that group, was
  // sent it as well, and decides itself when it ends.
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

void Launcher::Send(const v1::TrainerToAgent& message) {
  // Only what is too long is refused; what the agent must know is short.
  agent_->Send(message).IgnoreError();
}

v1::ReportHello Launcher::Self() const {
  v1::ReportHello self;
  self.set_job_id(prepare_.job_id());
  self.set_attempt(prepare_.attempt());
  self.set_rank(prepare_.rank());
  self.set_token(report_token_);
  return self;
}

}  // namespace tandem::command
