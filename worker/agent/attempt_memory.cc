#include "worker/agent/attempt_memory.h"

#include <algorithm>

namespace tandem::agent {

void AttemptMemory::NoteAborted(const JobId& job, AttemptNumber attempt) {
  AttemptNumber& aborted = Remember(job).aborted;
  aborted = std::max(aborted, attempt);
}

bool AttemptMemory::IsAborted(const JobId& job, AttemptNumber attempt) const {
  const auto known = jobs_.find(job);
  return known != jobs_.end() && attempt <= known->second.aborted;
}

bool AttemptMemory::NotePrepared(const RankKey& key) {
  return Remember(key.job).prepared.emplace(key.attempt, key.rank).second;
}

AttemptMemory::Job& AttemptMemory::Remember(const JobId& job) {
  const auto [known, is_new] = jobs_.try_emplace(job);
  if (!is_new) return known->second;
  by_age_.push_back(job);
  if (by_age_.size() > capacity_) {
    jobs_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return known->second;
}

}  // namespace tandem::agent
