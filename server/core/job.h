#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/event.h"
#include "server/core/scheduler.h"
#include "server/core/step_rate.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/journal.pb.h"
#include "tandem/v1/trainer.pb.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::core {

// A job and its states. Its verbs are the only writers of the state.
//
//                          +--------3--------+
//                          v                 |
//   submitted --1--> QUEUED --2--> PREPARING --4--> RUNNING --5--> SUCCEEDED
//                      |  ^            |              |  |
//                      |  +-----3------|--------------+  |
//                      |               |                 +----6--> FAILED
//                      |               +-----------------+----7--> CANCELLING --8--> CANCELLED
//                      +-----------------------------------------------9-----------> CANCELLED
//
//   1  constructor
//   2  StartAttempt  all slots are granted; the attempt number rises
//   3  Requeue       no process is left, and the job goes on in another attempt: after a failure that may
//                    heal (Retry), or after an end that was wanted
//   4  Run           every rank is ready
//   5  Succeed       every rank has finished and exited, with the same parameters
//   6  Fail          from PREPARING too: a cause is set, and no process is left or none answers
//   7  Cancel        a cancel was asked for
//   8  FinishCancel  no process is left, or none answers
//   9  Cancel        there is no process to wait for
//
// A verb without an edge from the present state returns false and changes nothing.
class Job {
 public:
  Job(uint64_t sequence, const JobSubmitted& submission, Moment now);
  // As it was when the record was written.
  Job(v1::JobRecord record, Moment now);

  // What clients see.
  const v1::Job& view() const { return view_; }
  // Of a rank of the present attempt.
  const v1::RankStatus& status(Rank rank) const {
    return view_.ranks(static_cast<int>(rank.value()));
  }
  v1::JobRecord Record() const;
  JobId id() const { return JobId(view_.id()); }
  uint64_t sequence() const { return sequence_; }
  const std::string& request_id() const { return request_id_; }
  v1::JobState state() const { return view_.state(); }
  AttemptNumber attempt() const { return AttemptNumber(view_.attempt()); }
  bool ended() const;
  // The cause of the present attempt's end is known.
  bool HasCause() const;

  // Rank r gets the r-th place.
  bool StartAttempt(const std::vector<Placement>& places, Moment now);
  // After the end that was planned.
  bool Requeue(Moment now);
  // After the failure that HasCause. False also where another attempt would be in vain: the cause cannot heal, or
  // there were too many.
  bool Retry(Moment now);
  bool Run(const v1::Prepared& meeting_point, Moment now);
  bool Succeed(const std::string& digest, Moment now);
  bool Fail(Moment now);
  bool Cancel(Moment now);
  bool FinishCancel(Moment now);

  // The present attempt is to end, and no failure: the job goes on in another one.
  void SetPlannedEnd(v1::CauseCode code, const std::string& why, Moment now);
  bool EndIsPlanned() const;

  // Within these bounds is its world size from now on.
  void SetBounds(uint32_t min, uint32_t max);
  // A pause costs it next to nothing.
  bool SavesCheckpoints() const { return view_.spec().has_checkpoint(); }
  // The kind of its slots: that of its first attempt for good, since the bits of another one are not the same; before
  // that, the one that its author has named, or none.
  std::string device() const;
  // What the scheduler has to know while it is QUEUED.
  Demand demand() const;

  // Keeps the first cause of the present attempt, PEER_LOST only until another one comes: a
  // survivor often reports its dead peer sooner than the peer's agent does. False: not kept, or not
  // PREPARING or RUNNING.
  bool SetCause(v1::Cause cause, Moment now);
  // What the rank wrote last, when its end is the cause and came without.
  void AddLastLines(const v1::RankExited& exit);

  // Facts about the present attempt. False: nothing changed.
  bool SetWaitingReason(const std::string& reason);
  bool SetPosition(Rank rank, uint64_t step, v1::Phase phase);
  bool SetProcessState(Rank rank, v1::ProcessState state);
  void SetProcess(Rank rank, int64_t pid) { Status(rank).set_pid(pid); }
  // True: there is a newer checkpoint, which is to be on disk before it is shown.
  bool AddProgress(const v1::RankProgress& progress, Moment now);
  // From the last step of an earlier attempt to the first of this one; unset where one of them is missing.
  std::optional<absl::Duration> Pause() const;
  // Brings steps_per_second up to date, which falls while no step is reported.
  bool RefreshRate(Moment now);

 private:
  v1::RankStatus& Status(Rank rank) { return *view_.mutable_ranks(static_cast<int>(rank.value())); }
  void AddSamples(const google::protobuf::RepeatedPtrField<v1::StepSample>& samples, Moment now);
  bool SetCheckpoint(const v1::CheckpointFile& file);
  v1::AttemptStatus& Current() { return *view_.mutable_attempts()->rbegin(); }
  void AddAttempt(Moment now);
  // An older coordinator kept no list of attempts.
  void AddAttemptOfOlderRecord(Moment now);
  void CloseAttempt(Moment now);
  void NoteFirstStep(uint64_t step, Moment now);
  bool LostAPort() const;
  bool Requeue(Moment now, absl::Duration backoff);
  bool Move(std::initializer_list<v1::JobState> from, v1::JobState to);
  bool End(std::initializer_list<v1::JobState> from, v1::JobState to, Moment now);

  uint64_t sequence_;
  std::string request_id_;
  v1::Job view_;
  // On the steady clock.
  absl::Duration submitted_;
  StepRate rate_;
  // The present attempt has written a checkpoint.
  bool saved_ = false;
  // When it began to wait, and when it may start.
  absl::Duration queued_;
  absl::Duration not_before_ = -absl::InfiniteDuration();
  // Its last attempt ended because that was wanted.
  bool resumes_ = false;
  // When the last step was reported.
  std::optional<absl::Duration> last_step_;
};

}  // namespace tandem::core
