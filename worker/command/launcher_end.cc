// How a rank ends: what is left of its program is killed, the cause is told, and the process ends the same way.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/command/descendants.h"
#include "worker/command/launcher.h"
#include "worker/command/port_holder.h"

namespace tandem::command {
namespace {

constexpr absl::Duration kSweepPoll = absl::Milliseconds(2);

bool EndedWell(ExitStatus status) { return status.code == 0 && status.signal == 0; }

std::string HowItEnded(ExitStatus status) {
  if (status.signal != 0) return absl::StrCat("was killed by signal ", status.signal);
  return absl::StrCat("exited with code ", status.code);
}

}  // namespace

void Launcher::OnProgramEnded(ExitStatus status) {
  if (!EndedWell(status)) context_.page.NoteFailure();
  context_.page.SetProcess(0);
  // Else it was killed in a sweep, whose reason stays.
  if (state_ != State::kRunning) return;
  program_status_ = status;
  SweepThen([this] { Conclude(); });
}

void Launcher::OnStoreEnded(ExitStatus status) {
  const pid_t pid = std::exchange(store_, 0);
  // It is not what the rank ends of.
  if (!EndedWell(program_status_)) return;
  Fail(v1::CAUSE_CODE_RANK_ERROR,
       absl::StrCat("the store on which the ranks meet (tandem-store, pid ", pid, ") ",
                    HowItEnded(status)));
}

void Launcher::OnAgentGone() {
  SweepThen([this] { End(kFailedExit); });
}

void Launcher::Fail(v1::CauseCode code, absl::string_view message) {
  if (std::exchange(has_failed_, true)) return;
  // The losses until then come before the cause.
  if (route_) route_->Flush();
  v1::TrainerToAgent failed;
  failed.mutable_failure()->set_code(code);
  failed.mutable_failure()->set_message(std::string(message));
  Send(failed);
  SweepThen([this] { End(kFailedExit); });
}

void Launcher::SweepThen(std::function<void()> then) {
  if (state_ == State::kEnded) return;
  state_ = State::kSweeping;
  after_sweep_ = std::move(then);
  if (sweep_timer_.active()) return;
  sweep_deadline_ = clock_.Now().steady + kSweepPatience;
  Sweep();
}

void Launcher::Sweep() {
  const auto left = KillDescendants(store_);
  if (left.ok() && !left->empty() && clock_.Now().steady < sweep_deadline_) {
    sweep_timer_ = loop_.After(kSweepPoll, [this] { Sweep(); });
    return;
  }
  if (!left.ok() || !left->empty()) {
    std::cerr << "tandem-command: " << DescribeLeftBehind(left) << std::endl;
  }
  std::exchange(after_sweep_, nullptr)();
}

void Launcher::Conclude() {
  program_->Drain();
  if (parser_ && !parser_->has_found()) {
    std::cerr << "tandem-command: command.parse.loss is in no line that rank 0 printed on stdout"
              << std::endl;
  }
  if (EndedWell(program_status_)) {
    state_ = State::kFinishing;
    context_.page.Set({.step = last_step_, .phase = v1::PHASE_DONE});
    return route_->Finish([this] { TellFinished(); });
  }
  route_->Flush();
  TellCause();
  End(program_status_);
}

void Launcher::TellCause() {
  std::optional<v1::RankFailure> failure = program_->WrittenError();
  if (BindsMasterPort() && SaidPortIsTaken(failure)) {
    if (!failure.has_value()) failure.emplace();
    failure->set_code(v1::CAUSE_CODE_PORT_TAKEN);
    failure->set_message(absl::StrCat("the program of rank 0 found port ", master_port_.port,
                                      " taken by ", DescribePortHolder(master_port_.port)));
  }
  if (!failure.has_value()) return;
  v1::TrainerToAgent message;
  *message.mutable_failure() = *std::move(failure);
  Send(message);
}

// The exception that was written is the cause; without one, the last lines tell.
bool Launcher::SaidPortIsTaken(const std::optional<v1::RankFailure>& written) const {
  if (!written.has_value()) return port_complaint_.IsAmongLastLines();
  return SaysPortTaken(written->message()) ||
         std::any_of(written->last_lines().begin(), written->last_lines().end(), SaysPortTaken);
}

void Launcher::TellFinished() {
  // Else something went wrong meanwhile.
  if (state_ != State::kFinishing) return;
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
  if (route_) route_->Flush();
  agent_->Flush(absl::InfiniteDuration());
  if (store_ != 0) {
    kill(store_, SIGKILL);
    waitpid(store_, nullptr, 0);
  }
  loop_.Stop();
}

}  // namespace tandem::command
