#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/coordinator.h"
#include "server/metrics/metrics.h"
#include "server/service/job_board.h"
#include "server/service/worker_streams.h"
#include "server/store/journal.h"
#include "server/store/log_store.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::service {

using LogSink = std::function<void(absl::LogSeverity, absl::string_view)>;

// Tells the core what happened and carries out what it decides: what must be on disk first, then
// what others are told.
//
// While the journal cannot be written, the core stands still: submissions are refused, events wait
// (no connection has more than one of them here), and Tick tries again. Queries go on, and show
// what is on disk.
//
// Of the loop's thread.
class Controller {
 public:
  // All of them outlive the controller.
  struct Dependencies {
    store::Journal& journal;
    store::LogStore& logs;
    metrics::Metrics& metrics;
    const Clock& clock;
    LogSink log;
  };

  Controller(core::Options options, Dependencies dependencies);

  // Before anything else: goes on with the jobs in the journal.
  //   As Journal::LoadJobs.
  absl::Status Restore();

  // `spec` is valid and has its defaults. The job is on disk when this returns it.
  //   ResourceExhausted  the journal cannot be written; nothing was queued.
  //   Unavailable        the daemon is stopping.
  absl::StatusOr<JobSnapshot> Submit(v1::JobSpec spec, std::string request_id);
  //   NotFound, FailedPrecondition  as Coordinator::CheckCancel.
  //   Unavailable                   the journal cannot be written, or the daemon stops: retry.
  absl::StatusOr<JobSnapshot> Cancel(const JobId& job);
  //   NotFound, InvalidArgument, FailedPrecondition  as Coordinator::CheckResize.
  //   Unavailable                                    as Cancel.
  absl::StatusOr<JobSnapshot> Resize(const JobId& job, uint32_t min_workers, uint32_t max_workers);
  // The worker as it is then; of one that is not connected, its name.
  //   NotFound     no worker of this name is known.
  //   Unavailable  as Cancel.
  absl::StatusOr<v1::Worker> Drain(const WorkerName& worker, bool undo);

  // `done` is called when the event has taken effect: flow control for whoever sends the next.
  void Deliver(core::Event event, absl::AnyInvocable<void()> done);
  void Tick();
  // Ends all streams. From now on nothing changes any more: workers that leave because the daemon
  // stops are not lost, and the jobs stay on disk as they are.
  void Shutdown();

  //   NotFound  no such job.
  //   As Journal::ReadHistory.
  absl::StatusOr<v1::GetHistoryResponse> ReadHistory(const JobId& job, uint64_t from_step,
                                                     uint32_t limit);
  std::vector<v1::Worker> Workers() const { return core_.Workers(); }
  std::vector<v1::WorkerHost> Hosts() const { return core_.Hosts(); }
  void MirrorMetrics();
  // Why the journal cannot be written, if it cannot.
  const absl::Status& journal_status() const { return journal_status_; }

  JobBoard& board() { return board_; }
  WorkerStreams& streams() { return streams_; }

 private:
  struct HeldEvent {
    core::Event event;
    absl::AnyInvocable<void()> done;
  };

  void Apply(const core::Event& event);
  // Takes effects over, and carries them out as far as the journal lets it.
  void Carry(core::Effects effects);
  void Take(core::PersistJob effect);
  void Take(core::ForgetJob effect);
  void Take(core::PersistDrain effect);
  void Take(core::RecordHistory effect);
  void Take(core::AcknowledgeWorker effect);
  template <typename Effect>
  void Take(Effect effect);
  // Commits batch_, then does what waits for it. False: the journal cannot be written; both are
  // kept.
  bool Flush();
  void DoAfterCommit();
  void SendAcknowledgements();
  absl::Status Retry() const;
  // Tries again where the journal could not be written. False: it still cannot.
  bool Ready();
  void NoteJournal(absl::Status status);
  absl::Status NothingQueued() const;

  void Execute(const core::AppendLogs& effect);
  void Execute(core::SendToWorker effect);
  void Execute(core::CloseWorker effect);
  void Execute(const core::JobChanged& effect);
  void Execute(const core::Log& effect);
  void Execute(const core::AttemptStarted& effect);
  void Execute(const core::RendezvousMeasured& effect);
  void Execute(const core::AttemptFailed& effect);
  void Execute(const core::PauseMeasured& effect);
  void Execute(const core::StepsDone& effect);

  JobId NewJobId(const std::string& name);

  const Dependencies deps_;
  core::Coordinator core_;
  JobBoard board_;
  WorkerStreams streams_;
  absl::BitGen random_;

  // To be committed: at once if it holds a job, with the next job or tick if it is only history.
  store::Batch batch_;
  // To be done once it is.
  std::vector<absl::AnyInvocable<void()>> after_commit_;
  // To be said once everything so far is on disk: the highest number of each connection.
  absl::flat_hash_map<core::ConnectionId, uint64_t> acknowledgements_;
  // The outcome of the last commit.
  absl::Status journal_status_;
  std::deque<HeldEvent> held_;
  bool shut_down_ = false;
};

}  // namespace tandem::service
