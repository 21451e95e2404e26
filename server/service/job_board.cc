#include "server/service/job_board.h"

#include <utility>

namespace tandem::service {

void JobBoard::Publish(const v1::Job& job) {
  auto [found, added] = entries_.try_emplace(JobId(job.id()));
  if (added) oldest_first_.push_back(found->first);
  Entry& entry = found->second;
  entry.job = std::make_shared<const v1::Job>(job);
  for (JobWatcher* watcher : entry.watchers) watcher->OnJob(entry.job);
}

void JobBoard::LogsGrew(const JobId& job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  for (JobWatcher* watcher : found->second.watchers) watcher->OnLogs();
}

void JobBoard::Shutdown() {
  shut_down_ = true;
  for (auto& [id, entry] : entries_) {
    for (JobWatcher* watcher : entry.watchers) watcher->OnShutdown();
  }
}

JobSnapshot JobBoard::Find(const JobId& job) const {
  const auto found = entries_.find(job);
  return found == entries_.end() ? nullptr : found->second.job;
}

std::vector<JobSnapshot> JobBoard::NewestFirst() const {
  std::vector<JobSnapshot> jobs;
  jobs.reserve(oldest_first_.size());
  for (auto id = oldest_first_.rbegin(); id != oldest_first_.rend(); ++id) {
    jobs.push_back(entries_.at(*id).job);
  }
  return jobs;
}

bool JobBoard::Watch(const JobId& job, JobWatcher* watcher) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return false;
  found->second.watchers.insert(watcher);
  watcher->OnJob(found->second.job);
  if (shut_down_) watcher->OnShutdown();
  return true;
}

void JobBoard::Unwatch(const JobId& job, JobWatcher* watcher) {
  const auto found = entries_.find(job);
  if (found != entries_.end()) found->second.watchers.erase(watcher);
}

}  // namespace tandem::service
