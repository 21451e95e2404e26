#include "worker/agent/agent.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/device_slot.h"
#include "common/host/device_environment.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "worker/agent/route.h"

namespace tandem::agent {
namespace {

constexpr size_t kRememberedJobs = 1024;
// A killed process that the kernel holds back longer, in a driver perhaps, is not waited for. What clears up behind a
// command takes its time too.
constexpr absl::Duration kKillPatience = absl::Seconds(3);
// For telling the coordinator the last exits.
constexpr absl::Duration kClosePatience = absl::Milliseconds(500);

// What the process of a rank gets for devices. A program of the user's sees those of all ranks here, by
// local rank, and is left to decide about the rest itself.
std::vector<v1::EnvironmentVariable> DeviceEnvironment(const v1::Prepare& prepare,
                                                       const v1::ProbeReport& host) {
  if (prepare.spec().has_command()) {
    return host::VisibilityEnvironment({prepare.local_slots().begin(), prepare.local_slots().end()},
                                       host);
  }
  return host::TrainerEnvironment(prepare.slot(), host, prepare.group_world_size() <= 1,
                                  host::IsInOwnEnvironment);
}

}  // namespace

Agent::Agent(EventLoop* loop, const Clock* clock, AgentOptions options)
    : loop_(*loop),
      clock_(*clock),
      options_(std::move(options)),
      link_(loop, options_.coordinator, options_.backoff, this),
      advertise_address_(options_.advertise_address),
      host_watch_(loop, WhileIdle(options_.host_watch)),
      memory_(kRememberedJobs) {}

HostWatch::Options Agent::WhileIdle(HostWatch::Options options) const {
  options.is_busy = [this] { return !running_.empty(); };
  return options;
}

void Agent::Start() {
  WatchForAbsence();
  link_.Start();
}

void Agent::Shutdown(const absl::Status& outcome) {
  if (stopping_) return;
  stopping_ = true;
  outcome_ = outcome;
  for (const auto& [key, rank] : running_) rank->Leave("the agent was stopped");
  if (running_.empty()) return Close();
  absl::Duration grace;
  for (const auto& [key, rank] : running_) grace = std::max(grace, rank->grace());
  stop_timer_ = loop_.After(grace + kKillPatience, [this] { Close(); });
}

void Agent::Close() {
  if (std::exchange(closing_, true)) return;
  link_.Close(kClosePatience, [this] { loop_.Stop(); });
}

absl::StatusOr<v1::Register> Agent::MakeRegister() {
  if (advertise_address_.empty()) {
    const auto coordinator = ParseHostPort(options_.coordinator);
    if (!coordinator.ok()) return coordinator.status();
    const auto local = LocalAddressTowards(*coordinator);
    if (!local.ok()) return local.status();
    advertise_address_ = *local;
  }
  v1::Register message;
  message.set_name(options_.name.value());
  message.set_incarnation(options_.incarnation.value());
  message.set_host(options_.host);
  message.set_advertise_address(advertise_address_);
  for (const std::string& slot : options_.slots) message.add_slots(slot);
  for (const v1::DeviceFacts& device : options_.host_devices.devices()) {
    if (absl::c_linear_search(options_.slots, SlotOf(device))) *message.add_devices() = device;
  }
  message.set_version(kVersion);
  message.set_protocol_version(kProtocolVersion);
  message.set_allows_commands(!options_.ranks.command_path.empty());
  for (const auto& [key, rank] : unreported_) {
    *message.add_running() = rank;
    // Another one may run there by now.
    if (!running_.contains(key)) message.mutable_running()->rbegin()->clear_slot();
  }
  return message;
}

v1::Heartbeat Agent::MakeHeartbeat() {
  v1::Heartbeat heartbeat;
  for (const auto& [key, rank] : running_) {
    *heartbeat.add_ranks() = rank->Position();
  }
  if (auto facts = host_watch_.TakeNews()) {
    *heartbeat.mutable_host_facts() = *std::move(facts);
    v1::HostFacts& news = *heartbeat.mutable_host_facts();
    for (const std::string& slot : options_.slots) news.add_slots(slot);
    *news.mutable_wall_clock() = ToProto(clock_.Now().wall);
  }
  return heartbeat;
}

void Agent::OnConnected(const v1::Registered& registered) {
  absence_timer_.Reset();
  lease_timer_.Reset();
  lease_ = FromProto(registered.lease());
  printed_reason_.clear();
  host_watch_.Renew();
  host_watch_.Start(advertise_address_);
  const size_t slots = options_.slots.size();
  std::cout << "tandem-worker " << options_.name << " connected to " << options_.coordinator
            << " with " << slots << (slots == 1 ? " slot" : " slots") << std::endl;
}

void Agent::OnDisconnected(const absl::Status& why) {
  WatchForAbsence();
  if (lease_ > absl::ZeroDuration() && !lease_timer_.active()) {
    lease_timer_ = loop_.After(lease_, [this] { StopRanksThatWantIt(); });
  }
  const std::string reason(why.message());
  if (reason == std::exchange(printed_reason_, reason)) return;
  std::cerr << "tandem-worker: not connected to the coordinator at " << options_.coordinator
            << ", will try again: " << reason << std::endl;
}

void Agent::OnRefused(const absl::Status& why) {
  Shutdown(absl::Status(why.code(), absl::StrCat("the coordinator at ", options_.coordinator,
                                                 " refuses this worker: ", why.message())));
}

void Agent::WatchForAbsence() {
  const absl::Duration limit = options_.exit_when_coordinator_gone;
  if (limit == absl::ZeroDuration() || absence_timer_.active()) return;
  absence_timer_ = loop_.After(limit, [this, limit] {
    Shutdown(
        absl::UnavailableError(absl::StrCat("the coordinator at ", options_.coordinator,
                                            " has been gone for ", absl::FormatDuration(limit))));
  });
}

void Agent::StopRanksThatWantIt() {
  for (const auto& [key, rank] : running_) {
    if (!rank->StopsWithoutCoordinator()) continue;
    rank->Leave(absl::StrCat("the coordinator could not be reached for ",
                             absl::FormatDuration(lease_), ", and on_coordinator_loss is stop"));
  }
}

void Agent::OnAcknowledged(const v1::WorkerToCoordinator& message) {
  if (message.has_rank_exited()) unreported_.erase(KeyOf(message.rank_exited()));
}

void Agent::OnMessage(const v1::CoordinatorToWorker& message) {
  switch (message.kind_case()) {
    case v1::CoordinatorToWorker::kPrepareRanks:
      return PrepareRanks(message.prepare_ranks());
    case v1::CoordinatorToWorker::kStartRanks:
      return StartRanks(message.start_ranks().start());
    case v1::CoordinatorToWorker::kPauseRanks:
      return PauseRanks(message.pause_ranks());
    case v1::CoordinatorToWorker::kAbort:
      return AbortRanks(message.abort());
    case v1::CoordinatorToWorker::kAcknowledge:
    case v1::CoordinatorToWorker::kRegistered:
    case v1::CoordinatorToWorker::KIND_NOT_SET:
      return;
  }
}

void Agent::PrepareRanks(const v1::PrepareRanks& request) {
  for (int i = 0; i < request.ranks_size(); ++i) {
    v1::Prepare prepare;
    prepare.set_job_id(request.job_id());
    prepare.set_attempt(request.attempt());
    prepare.set_rank(request.ranks(i).rank());
    prepare.set_world_size(request.world_size());
    prepare.set_local_rank(static_cast<uint32_t>(i));
    prepare.set_local_world_size(static_cast<uint32_t>(request.ranks_size()));
    prepare.set_slot(request.ranks(i).slot());
    *prepare.mutable_spec() = request.spec();
    prepare.set_advertise_address(advertise_address_);
    prepare.set_group_rank(request.group_rank());
    prepare.set_group_world_size(request.group_world_size());
    for (const v1::RankPlacement& rank : request.ranks()) prepare.add_local_slots(rank.slot());
    for (const auto& variable : DeviceEnvironment(prepare, options_.host_devices)) {
      *prepare.add_device_environment() = variable;
    }
    PrepareRank(prepare);
  }
}

void Agent::PrepareRank(const v1::Prepare& prepare) {
  const RankKey key = KeyOf(prepare);
  // A message that is repeated, after a reconnection perhaps, starts nothing and ends nothing.
  if (!memory_.NotePrepared(key)) return;
  absl::Status status = CheckPlacement(prepare);
  if (status.ok()) status = StartRank(prepare);
  if (!status.ok()) RefuseRank(key, status);
}

absl::Status Agent::CheckPlacement(const v1::Prepare& prepare) const {
  if (memory_.IsAborted(JobId(prepare.job_id()), AttemptNumber(prepare.attempt()))) {
    return absl::CancelledError("the attempt was aborted");
  }
  const std::string where =
      absl::StrCat("slot ", prepare.slot(), " of worker ", options_.name.value());
  if (stopping_) return absl::UnavailableError(absl::StrCat(where, " is being stopped"));
  if (!absl::c_linear_search(options_.slots, prepare.slot())) {
    return absl::NotFoundError(absl::StrCat("there is no ", where));
  }
  if (prepare.spec().has_command() && options_.ranks.command_path.empty()) {
    return absl::PermissionDeniedError(absl::StrCat("worker ", options_.name.value(),
                                                    " does not run commands (--allow-commands)"));
  }
  for (const auto& [key, rank] : running_) {
    if (rank->slot() != prepare.slot()) continue;
    return absl::FailedPreconditionError(absl::StrCat(where, " is busy with rank ",
                                                      key.rank.value(), " of job ", key.job.value(),
                                                      ", attempt ", key.attempt.value()));
  }
  return absl::OkStatus();
}

absl::Status Agent::StartRank(const v1::Prepare& prepare) {
  const RankKey key = KeyOf(prepare);
  auto rank = RankRunner::Start({.loop = &loop_,
                                 .clock = &clock_,
                                 .options = &options_.ranks,
                                 .send = [this](auto message) { link_.Send(std::move(message)); }},
                                prepare, [this, key] { OnRankExited(key); });
  if (!rank.ok()) return rank.status();
  running_[key] = *std::move(rank);
  v1::RunningRank& unreported = unreported_[key];
  SetKey(key, &unreported);
  unreported.set_slot(prepare.slot());
  return absl::OkStatus();
}

void Agent::RefuseRank(const RankKey& key, const absl::Status& why) {
  v1::WorkerToCoordinator message;
  v1::RankExited* exited = message.mutable_rank_exited();
  SetKey(key, exited);
  exited->set_phase(v1::PHASE_PREPARE);
  if (absl::IsCancelled(why)) {
    exited->set_aborted(true);
  } else {
    exited->set_exit_code(127);
    exited->mutable_failure()->set_code(v1::CAUSE_CODE_RANK_ERROR);
    exited->mutable_failure()->set_message(std::string(why.message()));
  }
  link_.Send(std::move(message));
}

void Agent::StartRanks(const v1::Start& start) {
  for (const auto& [key, rank] : running_) {
    if (key.job.value() != start.job_id() || key.attempt.value() != start.attempt()) continue;
    rank->Train(start);
  }
}

void Agent::PauseRanks(const v1::PauseRanks& pause) {
  for (const auto& [key, rank] : running_) {
    if (key.job.value() == pause.job_id() && key.attempt.value() == pause.attempt()) rank->Pause();
  }
}

void Agent::AbortRanks(const v1::Abort& abort) {
  const JobId job(abort.job_id());
  memory_.NoteAborted(job, AttemptNumber(abort.attempt()));
  for (const auto& [key, rank] : running_) {
    if (key.job == job && memory_.IsAborted(job, key.attempt)) {
      rank->Stop(abort.print_stacks());
    }
  }
}

void Agent::OnRankExited(const RankKey& key) {
  exited_.push_back(std::move(running_.extract(key).mapped()));
  loop_.Post([this] { exited_.clear(); });
  if (stopping_ && running_.empty()) Close();
}

}  // namespace tandem::agent
