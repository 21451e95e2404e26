#include "server/service/job_board.h"

#include <iterator>
#include <utility>

namespace tandem::service {

void JobBoard::Publish(const v1::Job& job) {
  auto [found, added] = entries_.try_emplace(JobId(job.id()));
  Entry& entry = found->second;
  if (added) {
    entry.number = ++last_number_;
    by_number_.emplace(entry.number, found->first);
  }
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

std::vector<JobBoard::Numbered> JobBoard::NewestFirst(uint64_t before) const {
  std::vector<Numbered> jobs;
  for (auto it = std::make_reverse_iterator(by_number_.lower_bound(before));
       it != by_number_.rend(); ++it) {
    jobs.push_back({it->first, entries_.at(it->second).job});
  }
  return jobs;
}

void JobBoard::Forget(const JobId& job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  by_number_.erase(found->second.number);
  entries_.erase(found);
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
