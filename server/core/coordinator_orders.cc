// The part of the Coordinator that tells workers what the ranks of an attempt should do. Each order may be
// given more than once.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/core/coordinator.h"

namespace tandem::core {
namespace {

// The workers of the present attempt, in the order of their ranks; those of one worker are contiguous.
std::vector<WorkerName> GroupsOf(const v1::Job& job) {
  std::vector<WorkerName> groups;
  for (const v1::RankStatus& rank : job.ranks()) {
    const WorkerName worker(rank.worker());
    if (groups.empty() || groups.back() != worker) groups.push_back(worker);
  }
  return groups;
}

}  // namespace

void Coordinator::Instruct(const Run& run, const WorkerName& worker) {
  switch (run.attempt.state()) {
    case Attempt::State::kPreparing:
      return SendPrepare(run, worker);
    case Attempt::State::kRunning:
      return SendStart(run, worker);
    case Attempt::State::kPausing:
      SendStart(run, worker);
      return SendPause(run, worker);
    case Attempt::State::kEnding:
      return SendAbort(worker, run.job.id(), run.attempt.number(), "the attempt is being ended");
  }
}

void Coordinator::SendPrepare(const Run& run, const WorkerName& worker) {
  v1::CoordinatorToWorker message;
  v1::PrepareRanks& prepare = *message.mutable_prepare_ranks();
  prepare.set_job_id(run.job.id().value());
  prepare.set_attempt(run.attempt.number().value());
  prepare.set_world_size(run.job.view().world_size());
  *prepare.mutable_spec() = run.job.view().spec();
  const std::vector<WorkerName> groups = GroupsOf(run.job.view());
  const auto group = std::find(groups.begin(), groups.end(), worker);
  prepare.set_group_rank(static_cast<uint32_t>(group - groups.begin()));
  prepare.set_group_world_size(static_cast<uint32_t>(groups.size()));
  for (const Rank rank : run.attempt.PresentOn(worker)) {
    v1::RankPlacement& placement = *prepare.add_ranks();
    placement.set_rank(rank.value());
    placement.set_slot(run.job.status(rank).slot());
  }
  Send(worker, std::move(message));
}

void Coordinator::SendStart(const Run& run, const WorkerName& worker) {
  v1::CoordinatorToWorker message;
  *message.mutable_start_ranks()->mutable_start() = run.attempt.start();
  Send(worker, std::move(message));
}

void Coordinator::SendPause(const Run& run, const WorkerName& worker) {
  v1::CoordinatorToWorker message;
  message.mutable_pause_ranks()->set_job_id(run.job.id().value());
  message.mutable_pause_ranks()->set_attempt(run.attempt.number().value());
  Send(worker, std::move(message));
}

}  // namespace tandem::core
