#include "server/metrics/metrics.h"

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/version.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace tandem::metrics {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::Gauge;

// "running" for JOB_STATE_RUNNING.
std::string LabelOf(const google::protobuf::EnumValueDescriptor& value, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix));
}

// One gauge for each value but UNSPECIFIED, there from the start: a state without members is 0, not
// absent.
template <typename State>
std::map<State, Gauge*> OneEach(prometheus::Family<Gauge>& family, absl::string_view prefix) {
  std::map<State, Gauge*> gauges;
  const auto* type = google::protobuf::GetEnumDescriptor<State>();
  for (int i = 0; i < type->value_count(); ++i) {
    const auto& value = *type->value(i);
    if (value.number() == 0) continue;
    gauges[static_cast<State>(value.number())] = &family.Add({{"state", LabelOf(value, prefix)}});
  }
  return gauges;
}

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Family<Gauge>& Gauges(prometheus::Registry& registry, const char* name,
                                  const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

constexpr char kCausePrefix[] = "CAUSE_CODE_";
constexpr char kSlots[] = "tandem_slots";
constexpr char kSlotsHelp[] =
    "Slots of connected workers; busy ones hold a rank or a process not yet gone.";

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : steps(Counter(
          registry, "tandem_steps_total",
          "Optimizer steps done, over all jobs; steps repeated by a new attempt count again.")),
      samples(Counter(registry, "tandem_samples_total",
                      "Training samples in those steps; evaluations are not included.")),
      attempts(Counter(registry, "tandem_attempts_total",
                       "Attempts that were given slots, first ones and restarts.")),
      log_lines_dropped(Counter(registry, "tandem_log_lines_dropped_total",
                                "Lines of ranks not kept: the job's log or the disk was full.")),
      failures_(
          BuildCounter()
              .Name("tandem_failures_total")
              .Help("Attempts that ended before their job did, by their first cause; resized, "
                    "preempted and drained are ends that were wanted. Cancelled ones are not "
                    "included.")
              .Register(registry)),
      job_loss_(Gauges(registry, "tandem_job_loss",
                       "Loss of the last step over all ranks; only jobs that run now.")),
      job_step_(Gauges(registry, "tandem_job_step", "Steps done; only jobs that run now.")),
      job_checkpoint_step_(Gauges(registry, "tandem_job_checkpoint_step",
                                  "Steps done in the newest checkpoint; only jobs that run now and "
                                  "have one.")),
      job_world_size_(
          Gauges(registry, "tandem_job_world_size", "Ranks of the job; only jobs that run now.")),
      rendezvous_(
          prometheus::BuildHistogram()
              .Name("tandem_rendezvous_seconds")
              .Help("From the grant of all slots until every rank was ready, of attempts that "
                    "got that far; loading of model and data is included.")
              .Register(registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
                                                               60, 120, 300, 600})),
      pause_(prometheus::BuildHistogram()
                 .Name("tandem_pause_seconds")
                 .Help("From the last step of one attempt of a job to the first of the next.")
                 .Register(registry)
                 .Add({}, prometheus::Histogram::BucketBoundaries{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
                                                                  60, 120, 300, 600})),
      slots_free_(Gauges(registry, kSlots, kSlotsHelp).Add({{"state", "free"}})),
      slots_busy_(Gauges(registry, kSlots, kSlotsHelp).Add({{"state", "busy"}})),
      jobs_(OneEach<v1::JobState>(
          Gauges(registry, "tandem_jobs", "Jobs in the journal by state, ended ones included."),
          "JOB_STATE_")),
      workers_(OneEach<v1::WorkerState>(
          Gauges(registry, "tandem_workers", "Worker agents by state."), "WORKER_STATE_")) {
  Gauges(registry, "tandem_build_info", "Always 1; the labels say what runs.")
      .Add({{"version", kVersion}, {"protocol", std::to_string(kProtocolVersion)}})
      .Set(1);
  AddCauses();
}

// There from the start, so that the rate sees the first failure. A restart of the coordinator is
// not counted.
void Metrics::AddCauses() {
  const auto* type = v1::CauseCode_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    const int code = type->value(i)->number();
    if (code == 0 || code == v1::CAUSE_CODE_COORDINATOR_RESTARTED) continue;
    failures_.Add({{"cause", LabelOf(*type->value(i), kCausePrefix)}});
  }
}

void Metrics::CountFailure(v1::CauseCode cause) {
  const auto* value = v1::CauseCode_descriptor()->FindValueByNumber(cause);
  const std::string label = value == nullptr ? "unknown" : LabelOf(*value, kCausePrefix);
  failures_.Add({{"cause", label}}).Increment();
}

void Metrics::ObserveRendezvous(absl::Duration from_slots_to_running) {
  rendezvous_.Observe(absl::ToDoubleSeconds(from_slots_to_running));
}

void Metrics::ObservePause(absl::Duration from_last_to_first_step) {
  pause_.Observe(absl::ToDoubleSeconds(from_last_to_first_step));
}

void Metrics::Mirror(const std::vector<std::shared_ptr<const v1::Job>>& jobs,
                     const std::vector<v1::Worker>& workers) {
  MirrorJobs(jobs);
  MirrorWorkers(workers);
}

void Metrics::MirrorJobs(const std::vector<std::shared_ptr<const v1::Job>>& jobs) {
  std::map<v1::JobState, int> count;
  absl::flat_hash_map<std::string, JobSeries> gone = std::move(running_);
  running_.clear();
  for (const auto& job : jobs) {
    ++count[job->state()];
    if (job->state() != v1::JOB_STATE_RUNNING) continue;
    if (auto known = gone.extract(job->id())) running_.insert(std::move(known));
    Show(*job);
  }
  for (const auto& [id, series] : gone) Remove(series);
  for (const auto& [state, gauge] : jobs_) gauge->Set(count[state]);
}

void Metrics::MirrorWorkers(const std::vector<v1::Worker>& workers) {
  std::map<v1::WorkerState, int> count;
  int slots = 0;
  int busy = 0;
  for (const v1::Worker& worker : workers) {
    ++count[worker.state()];
    slots += worker.slots_size();
    for (const v1::SlotStatus& slot : worker.slots()) busy += slot.job_id().empty() ? 0 : 1;
  }
  slots_free_.Set(slots - busy);
  slots_busy_.Set(busy);
  for (const auto& [state, gauge] : workers_) gauge->Set(count[state]);
}

void Metrics::Show(const v1::Job& job) {
  const prometheus::Labels labels = {{"job_id", job.id()}, {"name", job.name()}};
  auto [found, added] = running_.try_emplace(job.id());
  JobSeries& series = found->second;
  if (added) {
    series.step = &job_step_.Add(labels);
    series.world_size = &job_world_size_.Add(labels);
  }
  series.step->Set(static_cast<double>(job.step()));
  series.world_size->Set(job.world_size());
  if (job.has_loss()) {
    if (series.loss == nullptr) series.loss = &job_loss_.Add(labels);
    series.loss->Set(job.loss());
  }
  if (job.has_checkpoint()) {
    if (series.checkpoint == nullptr) series.checkpoint = &job_checkpoint_step_.Add(labels);
    series.checkpoint->Set(static_cast<double>(job.checkpoint().step()));
  }
}

void Metrics::Remove(const JobSeries& series) {
  job_step_.Remove(series.step);
  job_world_size_.Remove(series.world_size);
  if (series.loss != nullptr) job_loss_.Remove(series.loss);
  if (series.checkpoint != nullptr) job_checkpoint_step_.Remove(series.checkpoint);
}

}  // namespace tandem::metrics
