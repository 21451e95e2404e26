#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "common/ids.h"
#include "worker/agent/rank_key.h"

namespace tandem::agent {

// What the agent remembers of attempts beyond their end, so that a message which comes late or
// twice starts nothing. Forgets the oldest jobs.
class AttemptMemory {
 public:
  explicit AttemptMemory(size_t jobs) : capacity_(jobs) {}

  void NoteAborted(const JobId& job, AttemptNumber attempt);
  // True for this attempt and all before it.
  bool IsAborted(const JobId& job, AttemptNumber attempt) const;

  // False: it was noted before.
  bool NotePrepared(const RankKey& key);

 private:
  struct Job {
    AttemptNumber aborted{0};
    std::set<std::pair<AttemptNumber, Rank>> prepared;
  };

  Job& Remember(const JobId& job);

  const size_t capacity_;
  std::map<JobId, Job> jobs_;
  std::deque<JobId> by_age_;
};

}  // namespace tandem::agent
