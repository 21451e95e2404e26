#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file_descriptor.h"
#include "common/progress_page.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/command/held_port.h"
#include "worker/command/loss_parser.h"
#include "worker/command/port_complaint.h"
#include "worker/command/program.h"
#include "worker/command/report_route.h"
#include "worker/command/signals.h"
#include "worker/process/child_process.h"
#include "worker/process/event_loop.h"
#include "worker/process/frame_channel.h"

namespace tandem::command {

// One rank of an attempt of a `command` job, from Prepare to its end. One thread, one loop.
//
//   waiting --Start--> running --program ends--> sweeping --0, others run--> finishing --> ended
//      |                  |                      ^   |                           |
//      +-- SIGTERM -------+-- store or agent ----+   +-- anything else ----------+-- SIGTERM --> ended
//                             gone
class Launcher {
 public:
  struct Context {
    EventLoop* loop;
    FileDescriptor agent;
    ProgressPage page;
    // Parent of this process, and the process group of the program.
    pid_t keeper = 0, group = 0;
  };

  explicit Launcher(Context context);

  // Returns how this process is to end: as the program did. Needs the signals blocked that SplitFromKeeper
  // blocks.
  ExitStatus Run();

 private:
  // Of a rank that does not end as its program did.
  static constexpr ExitStatus kFailedExit = {.code = 1};
  enum class State { kWaiting, kRunning, kSweeping, kFinishing, kEnded };

  void OnMessage(const v1::AgentToTrainer& message);
  void Prepare(const v1::Prepare& prepare);
  // Holds the ports of rank 0, and announces them.
  absl::Status HoldPorts(v1::Prepared* prepared);
  void Start(const v1::Start& start);
  absl::Status StartHostedStore();
  absl::Status StartProgram(const v1::Start& start);
  void Pause();

  void OnSignal(int signal);
  void ReapChildren();
  void OnTerminate(int signal);
  void PrintStacks();
  void DescribeProgram();

  void OnReport(const v1::StepReport& report);
  void OnStdoutLine(const std::string& line);

  void OnProgramEnded(ExitStatus status);
  void OnStoreEnded(ExitStatus status);
  void OnAgentGone();
  void Fail(v1::CauseCode code, absl::string_view message);
  // Kills all that is left of the program, then goes on with `then`, or with what a later call says. Goes on
  // as well, and complains, where something does not end.
  void SweepThen(std::function<void()> then);
  void Sweep();
  // Of the program, once nothing of it is left.
  void Conclude();
  void TellCause();
  bool SaidPortIsTaken(const std::optional<v1::RankFailure>& written) const;
  void TellFinished();
  void End(ExitStatus status);
  void Send(const v1::TrainerToAgent& message);

  v1::ReportHello Self() const;
  // Whether the program takes the port on which the ranks meet itself.
  bool BindsMasterPort() const { return prepare_.rank() == 0 && !hosts_store_; }

  Context context_;
  EventLoop& loop_;
  const SystemClock clock_;
  State state_ = State::kWaiting;
  v1::Prepare prepare_;
  bool hosts_store_ = true;
  bool pause_wanted_ = false, has_failed_ = false;
  uint64_t last_step_ = 0;
  ExitStatus program_status_, result_;
  pid_t store_ = 0;
  // Of rank 0's report port.
  std::string report_token_;
  HeldPort master_port_;
  PortComplaint port_complaint_;
  std::optional<LossParser> parser_;
  std::function<void()> after_sweep_;
  absl::Duration sweep_deadline_;
  std::unique_ptr<FrameChannel<v1::AgentToTrainer>> agent_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<ReportRoute> route_;
  std::unique_ptr<Program> program_;
  EventLoop::Registration sweep_timer_, stacks_timer_;
};

}  // namespace tandem::command
