#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/attempt.h"
#include "server/core/cluster.h"
#include "server/core/effect.h"
#include "server/core/event.h"
#include "server/core/job.h"
#include "server/core/options.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/journal.pb.h"

namespace tandem::core {

// Decides everything that happens to jobs and workers, and does nothing itself: it is told events
// and answers with effects, to be carried out in order. The same events at the same moments give
// the same effects. It knows no clock, socket, thread, file or chance.
//
// Not thread-safe: one loop owns it. Pointers that it returns live until the next non-const call.
class Coordinator {
 public:
  explicit Coordinator(Options options) : options_(options) {}
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Takes over the jobs of an earlier coordinator, and the workers that were being drained; at most
  // once, before the first event. Attempts that trained go on: their workers are expected back within
  // the lease. Those that were still preparing are queued again.
  Effects Restore(std::vector<v1::JobRecord> records, const std::vector<WorkerName>& draining,
                  Moment now);

  Effects Apply(const Event& event, Moment now);

  // The job as clients see it; nullptr: not known.
  const v1::Job* FindJob(const JobId& id) const;
  // The job that was submitted with this request id; nullptr: none, or the id is empty.
  const v1::Job* FindByRequestId(absl::string_view request_id) const;
  // Newest first.
  std::vector<const v1::Job*> Jobs() const;
  // By name.
  std::vector<v1::Worker> Workers() const;
  // What the connected workers have said about their hosts, by name.
  std::vector<v1::WorkerHost> Hosts() const { return cluster_.Hosts(); }

  // Whether CancelRequested would be heeded.
  //   NotFound            no such job.
  //   FailedPrecondition  it has already ended.
  absl::Status CheckCancel(const JobId& id) const;
  // Whether ResizeRequested would be heeded.
  //   NotFound            no such job.
  //   InvalidArgument     not 1 <= min <= max <= the job's logical ranks.
  //   FailedPrecondition  it has ended, or it trains and has no checkpoint to go on from.
  absl::Status CheckResize(const JobId& id, uint32_t min, uint32_t max) const;
  // Whether DrainRequested would be heeded.
  //   NotFound  no worker of this name is known.
  absl::Status CheckDrain(const WorkerName& name) const;

 private:
  // An attempt that is not over, and its job.
  struct Run {
    Job& job;
    Attempt attempt;
  };

  // Jobs: coordinator.cc
  void On(const JobSubmitted& event);
  void On(const JobWithdrawn& event);
  void On(const CancelRequested& event);
  void On(const ResizeRequested& event);
  void On(const ScheduleDue& event);
  void On(const HeldUp& event);
  void On(const TimePassed& event);
  const Job* Find(const JobId& id) const;
  Job& Insert(Job job);
  // It goes on as its record says.
  void Resume(v1::JobRecord record);
  void Adopt(Job& job, Attempt attempt);
  void NoteEnd(const Job& job);
  void ForgetOldJobs();
  // `job` is gone after it.
  void Forget(const Job& job);
  Effects TakeEffects();

  // Scheduling: coordinator_schedule.cc
  void PlaceJobs();
  Holding HoldingOf(const Run& run) const;
  bool AllConnected(const Run& run) const;

  // Workers: coordinator_workers.cc
  void On(const WorkerConnected& event);
  void On(const WorkerDisconnected& event);
  void On(const WorkerMessage& event);
  void On(const DrainRequested& event);
  void Hear(const WorkerName& worker, const v1::WorkerToCoordinator& message);
  absl::Status CheckConnect(const v1::Register& registration) const;
  void AbortStale(const v1::Register& registration);
  // The same agent is there again: repeats what its ranks should do, and finds out who is missing.
  void TakeUp(const v1::Register& registration);
  void TakeUp(Run& run, const v1::Register& registration);
  void LoseWorker(const WorkerName& name, absl::string_view why);
  // Its process is gone, or out of reach for good. One that had done its part is no failure.
  void LoseRank(Run& run, Rank rank, absl::string_view why);
  void LoseSilentWorkers();

  // Attempts: coordinator_attempts.cc
  void StartAttempt(Job& job, const std::vector<Placement>& places);
  void StartTraining(Run& run);
  // The job goes on in another attempt; this one saves before it ends, if it has got that far.
  void PauseAttempt(Run& run, v1::CauseCode code, const std::string& why);
  void Fail(Run& run, v1::Cause cause);
  void EndAttempt(Run& run, absl::string_view reason, bool print_stacks = false);
  // All its processes are gone, or none answers. `run` is no more when this returns.
  void Conclude(Run& run);
  void ConcludeFailure(Job& job);
  void EndOverdue();
  void EndOverdue(Run& run);
  void EndHung(Run& run);
  // What the ranks of this attempt on this worker should be doing.
  void Instruct(const Run& run, const WorkerName& worker);
  void SendPrepare(const Run& run, const WorkerName& worker);
  void SendStart(const Run& run, const WorkerName& worker);
  void SendPause(const Run& run, const WorkerName& worker);

  // What workers say about ranks: coordinator_ranks.cc
  void OnHeartbeat(const WorkerName& worker, const v1::Heartbeat& heartbeat);
  void OnPrepared(const WorkerName& worker, const v1::RankPrepared& prepared);
  void OnReport(const WorkerName& worker, const v1::RankReport& report);
  void OnProgress(Run& run, const v1::RankProgress& progress);
  void OnFinished(Run& run, Rank rank, const v1::RankFinished& finished);
  void OnPaused(Run& run, Rank rank, const v1::RankPaused& paused);
  void OnFailure(Run& run, Rank rank, const v1::RankFailure& failure);
  void OnLog(const v1::RankLog& log);
  void OnExited(const WorkerName& worker, const v1::RankExited& exit);
  void JudgeExit(Run& run, const v1::RankExited& exit);
  // nullptr: that attempt is not live.
  Run* FindRun(const JobId& job, AttemptNumber attempt);
  // nullptr: that rank is not live on that worker. `Message` names a job, an attempt and a rank.
  template <typename Message>
  Run* FindRun(const WorkerName& worker, const Message& message);

  // Effects
  void Persist(const Job& job);
  void Changed(const Job& job) { changed_.insert(job.id()); }
  void Send(const WorkerName& worker, v1::CoordinatorToWorker message);
  void SendAbort(const WorkerName& worker, const JobId& job, AttemptNumber attempt,
                 absl::string_view reason, bool print_stacks = false);
  void Say(absl::LogSeverity severity, std::string text);

  const Options options_;
  std::map<uint64_t, Job> jobs_;  // by sequence
  std::map<JobId, uint64_t> sequences_;
  std::map<std::string, JobId, std::less<>> request_ids_;
  std::set<uint64_t> queue_;
  // Those that have ended, in that order.
  std::deque<JobId> ended_;
  std::map<JobId, Run> runs_;
  Cluster cluster_;
  uint64_t last_sequence_ = 0;

  // Of the event in hand.
  Moment now_;
  Effects effects_;
  std::set<JobId> changed_;
  bool schedule_due_ = false;
};

}  // namespace tandem::core
