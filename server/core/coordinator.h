#pragma once

#include <cstdint>
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

  // Takes over the jobs of an earlier coordinator; at most once, before the first event. Jobs that
  // ran are queued again under a higher attempt number, since their workers have to connect anew.
  Effects Restore(std::vector<v1::JobRecord> records, Moment now);

  Effects Apply(const Event& event, Moment now);

  // The job as clients see it; nullptr: not known.
  const v1::Job* FindJob(const JobId& id) const;
  // The job that was submitted with this request id; nullptr: none, or the id is empty.
  const v1::Job* FindByRequestId(absl::string_view request_id) const;
  // Newest first.
  std::vector<const v1::Job*> Jobs() const;
  // By name.
  std::vector<v1::Worker> Workers() const;

  // Whether CancelRequested would be heeded.
  //   NotFound            no such job.
  //   FailedPrecondition  it has already ended.
  absl::Status CheckCancel(const JobId& id) const;

  // False for what an older attempt, or one of an unknown job, still says; true for the last one of
  // a job that has ended. Fences log lines.
  bool IsCurrentAttempt(const JobId& id, AttemptNumber attempt) const;

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
  void On(const TimePassed& event);
  const Job* Find(const JobId& id) const;
  Job& Insert(Job job);
  void Resume(Job& job);
  void ScheduleJobs();
  Effects TakeEffects();

  // Workers: coordinator_workers.cc
  void On(const WorkerConnected& event);
  void On(const WorkerDisconnected& event);
  void On(const WorkerMessage& event);
  absl::Status CheckConnect(const v1::Register& registration) const;
  void ReplaceConnection(const Worker& worker);
  void AbortStale(const v1::Register& registration);
  void LoseWorker(const WorkerName& name, absl::string_view why);
  void LoseSilentWorkers();

  // Attempts: coordinator_attempts.cc
  void StartAttempt(Job& job, const std::vector<Placement>& places);
  void SendPrepare(const Job& job);
  void StartTraining(Run& run);
  void Fail(Run& run, v1::Cause cause);
  void EndAttempt(Run& run, absl::string_view reason);
  void Conclude(Run& run);
  void EndOverdue();
  void EndOverdue(Run& run);

  // What workers say about ranks: coordinator_ranks.cc
  void OnHeartbeat(const WorkerName& worker, const v1::Heartbeat& heartbeat);
  void OnPrepared(const WorkerName& worker, const v1::RankPrepared& prepared);
  void OnReport(const WorkerName& worker, const v1::RankReport& report);
  void OnProgress(Run& run, const v1::RankProgress& progress);
  void OnFinished(Run& run, Rank rank, const v1::RankFinished& finished);
  void OnFailure(Run& run, Rank rank, const v1::RankFailure& failure);
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
                 absl::string_view reason);
  void Say(absl::LogSeverity severity, std::string text);

  const Options options_;
  std::map<uint64_t, Job> jobs_;  // by sequence
  std::map<JobId, uint64_t> sequences_;
  std::map<std::string, JobId, std::less<>> request_ids_;
  std::set<uint64_t> queue_;
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
