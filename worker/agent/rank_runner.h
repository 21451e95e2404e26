#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/progress_page.h"
#include "tandem/v1/worker.pb.h"
#include "worker/agent/log_collector.h"
#include "worker/agent/rank_key.h"
#include "worker/agent/trainer_channel.h"
#include "worker/process/child_process.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {

// How this agent runs its trainers; the same for all of them.
struct RankOptions {
  std::string trainer_path;
  // Stands in for the trainer of a job with a `command`; empty: such jobs do not run here.
  std::string command_path;
  LogOptions logs;
  // From SIGTERM to SIGKILL; a `command` says its own.
  absl::Duration kill_grace = absl::Milliseconds(500);
  // For a trainer that has finished to exit. One that hangs in its teardown is stopped then.
  absl::Duration exit_grace = absl::Seconds(10);
};

// One rank of one attempt: its process, its channel, what it prints. Turns what it does into
// messages for the coordinator, of which RankExited is the last. Loop only.
class RankRunner {
 public:
  struct Context {
    EventLoop* loop;
    const Clock* clock;
    const RankOptions* options;
    std::function<void(v1::WorkerToCoordinator)> send;
  };

  // Starts the trainer and hands it `prepare`. `on_exited` is called after RankExited was sent; it
  // must not destroy the runner.
  //   Any code  the trainer could not be started; nothing was or will be sent.
  static absl::StatusOr<std::unique_ptr<RankRunner>> Start(Context context,
                                                           const v1::Prepare& prepare,
                                                           std::function<void()> on_exited);

  const std::string& slot() const { return slot_; }
  // Where it is, and what its process does.
  v1::RankPosition Position() const;
  // Its job does not want it to train while the coordinator cannot be reached.
  bool StopsWithoutCoordinator() const { return stops_without_coordinator_; }
  // How long it may take to stop before it is killed.
  absl::Duration grace() const { return grace_; }

  // Each may be called again, and then changes nothing.
  void Train(const v1::Start& start);
  void Pause();
  // Stops the trainer, because the coordinator said so: its exit is reported as aborted. If asked to, it prints
  // its stacks before that.
  void Stop(bool print_stacks);
  // Stops it for a reason of the agent's own: a cause, where an order to stop is none.
  void Leave(const std::string& why);

 private:
  RankRunner(Context context, const v1::Prepare& prepare, ProgressPage page,
             std::function<void()> on_exited);

  absl::Status Launch(const v1::Prepare& prepare);
  void Tell(const v1::AgentToTrainer& message);
  // Stops it; `why` becomes the rank's failure, unless it has one already.
  void Fail(v1::CauseCode code, const std::string& why);
  void Terminate() { process_->Terminate(grace_); }
  // Of a command: by itself, though its rank's own process is still clearing up.
  bool ProgramHasFailed() const;
  // Waits until the stacks are there, or it is too late for them.
  void TerminateAfterStacks(absl::Duration waited);

  void OnMessage(const v1::TrainerToAgent& message);
  void OnPrepared(const v1::Prepared& prepared);
  void OnFinished();
  void OnFailure(const v1::RankFailure& failure);
  // Between two of the agent's own heartbeats.
  void SendPosition();
  void OnChannelClosed(const absl::Status& reason);
  void OnLog(v1::RankLog log);
  void OnGone(ExitStatus status);
  // Its process is gone, and so is whoever else could speak for it.
  void Conclude();
  void SendExited(ExitStatus status);

  const Context context_;
  const RankKey key_;
  const std::string slot_;
  const bool stops_without_coordinator_;
  const absl::Duration grace_;
  const std::function<void()> on_exited_;
  ProgressPage page_;
  bool started_ = false;
  bool aborted_ = false;
  bool finished_ = false;
  bool channel_closed_ = false;
  std::optional<ExitStatus> gone_;
  std::optional<v1::RankFailure> failure_;
  EventLoop::Registration silence_timer_, exit_timer_, stacks_timer_;
  std::unique_ptr<LogCollector> logs_;
  std::unique_ptr<TrainerChannel> channel_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace tandem::agent
