#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "tandem/v1/job.pb.h"

namespace tandem::metrics {

// Every metric of the coordinator, with its help text, in one place. Counters are counted as things
// happen and start at zero with the process; gauges are set from a picture of the cluster by
// Mirror().
//
// The counters may be used from any thread, Mirror from one at a time.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  prometheus::Counter& steps;
  prometheus::Counter& samples;
  prometheus::Counter& attempts;
  prometheus::Counter& log_lines_dropped;

  void CountFailure(v1::CauseCode cause);
  void ObserveRendezvous(absl::Duration from_slots_to_running);
  void ObservePause(absl::Duration from_last_to_first_step);

  // Sets every gauge. The series of a job that is not running are removed, so that job ids never
  // pile up.
  void Mirror(const std::vector<std::shared_ptr<const v1::Job>>& jobs,
              const std::vector<v1::Worker>& workers);

 private:
  struct JobSeries {
    prometheus::Gauge* loss = nullptr;        // Only after the first step.
    prometheus::Gauge* checkpoint = nullptr;  // Only after the first one.
    prometheus::Gauge* step;
    prometheus::Gauge* world_size;
  };

  void AddCauses();
  void MirrorJobs(const std::vector<std::shared_ptr<const v1::Job>>& jobs);
  void MirrorWorkers(const std::vector<v1::Worker>& workers);
  void Show(const v1::Job& job);
  void Remove(const JobSeries& series);

  prometheus::Family<prometheus::Counter>& failures_;
  prometheus::Family<prometheus::Gauge>& job_loss_;
  prometheus::Family<prometheus::Gauge>& job_step_;
  prometheus::Family<prometheus::Gauge>& job_checkpoint_step_;
  prometheus::Family<prometheus::Gauge>& job_world_size_;
  prometheus::Histogram& rendezvous_;
  prometheus::Histogram& pause_;
  prometheus::Gauge& slots_free_;
  prometheus::Gauge& slots_busy_;
  std::map<v1::JobState, prometheus::Gauge*> jobs_;
  std::map<v1::WorkerState, prometheus::Gauge*> workers_;
  absl::flat_hash_map<std::string, JobSeries> running_;
};

}  // namespace tandem::metrics
