// What a Simulation expects to hold after every event.

#include <algorithm>
#include <utility>

#include "server/core/simulation.h"

namespace tandem::core {
namespace {

struct Bytes {
  std::string operator()(const PersistJob& e) const { return e.record.SerializeAsString(); }
  std::string operator()(const RecordHistory& e) const {
    return e.job.value() + e.progress.SerializeAsString();
  }
  std::string operator()(const SendToWorker& e) const {
    return e.worker.value() + std::to_string(e.connection.value()) + e.message.SerializeAsString();
  }
  std::string operator()(const CloseWorker& e) const {
    return e.worker.value() + std::to_string(e.connection.value()) + e.status.ToString();
  }
  std::string operator()(const JobChanged& e) const { return e.job.value(); }
  std::string operator()(const Log& e) const { return e.text; }
  std::string operator()(const AttemptStarted& e) const { return e.job.value(); }
  std::string operator()(const RendezvousMeasured& e) const {
    return absl::FormatDuration(e.duration);
  }
  std::string operator()(const AttemptFailed& e) const { return v1::CauseCode_Name(e.code); }
  std::string operator()(const StepsDone& e) const {
    return std::to_string(e.steps) + "/" + std::to_string(e.samples);
  }
};

using Edge = std::pair<v1::JobState, v1::JobState>;

bool IsEdge(Edge edge) {
  static const std::set<Edge> edges = {{v1::JOB_STATE_UNSPECIFIED, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_QUEUED, v1::JOB_STATE_PREPARING},
                                       {v1::JOB_STATE_QUEUED, v1::JOB_STATE_CANCELLED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_RUNNING},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_FAILED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_CANCELLING},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_SUCCEEDED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_CANCELLING},
                                       {v1::JOB_STATE_CANCELLING, v1::JOB_STATE_CANCELLED}};
  return edges.contains(edge);
}

bool SameCheckpoint(const v1::Job& a, const v1::Job& b) {
  return a.checkpoint().SerializeAsString() == b.checkpoint().SerializeAsString();
}

}  // namespace

Effects Simulation::Apply(const Event& event) {
  Effects effects = coordinator_->Apply(event, clock_.Now());
  for (const Effect& effect : effects) trace_ += std::visit(Bytes(), effect) + '\n';
  CheckChanges(effects);
  return effects;
}

std::map<std::string, std::string> Simulation::Views() const {
  std::map<std::string, std::string> views;
  for (const v1::Job* job : coordinator_->Jobs()) views[job->id()] = job->SerializeAsString();
  return views;
}

// Watchers are told of every change, once.
void Simulation::CheckChanges(const Effects& effects) {
  const auto before = std::exchange(views_, Views());
  std::set<std::string> told;
  for (const Effect& effect : effects) {
    const auto* changed = std::get_if<JobChanged>(&effect);
    if (changed != nullptr) {
      EXPECT_TRUE(told.insert(changed->job.value()).second) << "told twice";
    }
  }
  for (const auto& [id, view] : views_) {
    const auto it = before.find(id);
    const bool same = it != before.end() && it->second == view;
    EXPECT_TRUE(same || told.contains(id)) << id << " changed silently";
  }
}

// A job goes along the edges of its diagram, so it ends once, or has a new checkpoint; attempts rise
// by one, when one starts.
void Simulation::CheckRecord(const v1::Job& before, const v1::Job& after) const {
  const bool saved = before.state() == after.state() && !SameCheckpoint(before, after);
  EXPECT_TRUE(saved || IsEdge({before.state(), after.state()}))
      << after.id() << " from " << v1::JobState_Name(before.state()) << " to "
      << v1::JobState_Name(after.state());
  const bool starts = after.state() == v1::JOB_STATE_PREPARING;
  EXPECT_EQ(after.attempt(), before.attempt() + (starts && !saved ? 1 : 0)) << after.id();
  const bool failed = after.state() == v1::JOB_STATE_FAILED;
  EXPECT_TRUE(!failed || after.cause().attempt() == after.attempt()) << "failed without a cause";
}

// No rank is in two places, and each process of a connected agent holds the slot it runs on.
void Simulation::CheckSlots() const {
  std::set<std::tuple<std::string, uint32_t, uint32_t>> ranks;
  std::map<std::pair<std::string, std::string>, std::string> holders;
  const auto name = [](const std::string& job, uint32_t attempt, uint32_t rank) {
    return job + "/" + std::to_string(attempt) + "/" + std::to_string(rank);
  };
  std::map<std::string, std::string> incarnations;
  for (const v1::Worker& worker : coordinator_->Workers()) {
    incarnations[worker.name()] = worker.incarnation();
    for (const v1::SlotStatus& slot : worker.slots()) {
      if (slot.job_id().empty()) continue;
      EXPECT_TRUE(ranks.emplace(slot.job_id(), slot.attempt(), slot.rank()).second);
      holders[{worker.name(), slot.name()}] = name(slot.job_id(), slot.attempt(), slot.rank());
    }
  }
  for (const Agent& agent : agents_) {
    if (!agent.connection() || incarnations[agent.name()] != agent.incarnation().value()) continue;
    for (const Agent::Process& process : agent.processes()) {
      const std::string expected =
          name(process.id.job.value(), process.id.attempt.value(), process.id.rank.value());
      EXPECT_EQ((holders[{agent.name(), process.slot}]), expected);
    }
  }
}

// The first of the queue does not wait for slots that are free; who waits knows why.
void Simulation::CheckQueue() const {
  size_t free = 0;
  for (const v1::Worker& worker : coordinator_->Workers()) {
    for (const v1::SlotStatus& slot : worker.slots()) free += slot.job_id().empty() ? 1 : 0;
  }
  const v1::Job* first = nullptr;
  for (const v1::Job* job : coordinator_->Jobs()) {
    const bool waits = job->state() == v1::JOB_STATE_QUEUED;
    EXPECT_EQ(waits, !job->waiting_reason().empty()) << job->id();
    if (waits) first = job;
  }
  EXPECT_TRUE(first == nullptr || first->world_size() > free)
      << first->id() << " waits for nothing";
}

void Simulation::CheckNothingLost() const {
  std::set<std::string> known;
  for (const v1::Job* job : coordinator_->Jobs()) known.insert(job->id());
  EXPECT_EQ(known, submitted_);
}

// A checkpoint that clients see is on disk, and the receipt is that of the last step.
void Simulation::CheckEvidence() const {
  for (const v1::Job* job : coordinator_->Jobs()) {
    EXPECT_TRUE(SameCheckpoint(*job, journal_.at(job->id()).job())) << job->id();
    EXPECT_EQ(job->receipt().level(), v1::EQUIVALENCE_LEVEL_BITWISE) << job->id();
    EXPECT_EQ(job->receipt().step(), job->step()) << job->id();
    EXPECT_EQ(job->receipt().digest(), ReceiptAt(job->step())) << job->id();
  }
}

}  // namespace tandem::core
