#pragma once

#include <cstdint>
#include <limits>
#include <map>
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
  // The job is no more; who watches it has seen its end.
  void Forget(const JobId& job);
  void Shutdown();

  // nullptr: no such job.
  JobSnapshot Find(const JobId& job) const;
  // All, or only those that are older than the job with this number.
  struct Numbered {
    uint64_t number;
    JobSnapshot job;
  };
  static constexpr uint64_t kNewest = std::numeric_limits<uint64_t>::max();
  std::vector<Numbered> NewestFirst(uint64_t before = kNewest) const;

  // Shows the watcher the job as it is now, then every change until Unwatch. False: no such job.
  bool Watch(const JobId& job, JobWatcher* watcher);
  void Unwatch(const JobId& job, JobWatcher* watcher);

 private:
  struct Entry {
    JobSnapshot job;
    uint64_t number;
    absl::flat_hash_set<JobWatcher*> watchers;
  };

  absl::flat_hash_map<JobId, Entry> entries_;
  std::map<uint64_t, JobId> by_number_;
  uint64_t last_number_ = 0;
  bool shut_down_ = false;
};

}  // namespace tandem::service
