#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/ids.h"
#include "tandem/v1/job.pb.h"

namespace tandem::service {

using JobSnapshot = std::shared_ptr<const v1::Job>;

// Someone who follows one job. Called on the loop's thread; must not block.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  virtual void OnJob(JobSnapshot job) = 0;
  virtual void OnLogs() = 0;
  // The daemon is stopping: nothing more will come.
  virtual void OnShutdown() = 0;
};

// The jobs as the world may see them: in states that are on disk already. Only the progress of a
// running job may be a tick ahead of its history there. Of the loop's thread.
class JobBoard {
 public:
  void Publish(const v1::Job& job);
  void LogsGrew(const JobId& job);
  void Shutdown();

  // nullptr: no such job.
  JobSnapshot Find(const JobId& job) const;
  std::vector<JobSnapshot> NewestFirst() const;

  // Shows the watcher the job as it is now, then every change until Unwatch. False: no such job.
  bool Watch(const JobId& job, JobWatcher* watcher);
  void Unwatch(const JobId& job, JobWatcher* watcher);

 private:
  struct Entry {
    JobSnapshot job;
    absl::flat_hash_set<JobWatcher*> watchers;
  };

  absl::flat_hash_map<JobId, Entry> entries_;
  std::vector<JobId> oldest_first_;
  bool shut_down_ = false;
};

}  // namespace tandem::service
