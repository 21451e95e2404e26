#include "server/core/cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/device_slot.h"
#include "common/proto_time.h"
#include "common/slot_request.h"
#include "common/version.h"

namespace tandem::core {
namespace {

absl::Status Refused(const v1::Register& registration, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("worker '", registration.name(), "' cannot register: ", why));
}

v1::DeviceFacts DeviceOf(const std::string& slot, const v1::Register& registration) {
  const v1::DeviceFacts* device = DeviceOfSlot(slot, registration.devices());
  return device == nullptr ? v1::DeviceFacts() : *device;
}

}  // namespace

absl::Status CheckRegistration(const v1::Register& registration) {
  if (registration.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker '", registration.name(), "' speaks protocol ", registration.protocol_version(),
        ", this coordinator speaks ", kProtocolVersion, ": upgrade the older of the two"));
  }
  if (registration.name().empty()) return Refused(registration, "it has no name");
  if (registration.incarnation().empty()) return Refused(registration, "it has no incarnation");
  if (registration.advertise_address().empty()) {
    return Refused(registration, "it has no address on which other hosts reach it");
  }
  if (registration.slots().empty()) return Refused(registration, "it has no slots");
  std::set<std::string> unused;
  for (const std::string& slot : registration.slots()) {
    if (slot.empty()) return Refused(registration, "a slot has no name");
    if (!unused.insert(slot).second)
      return Refused(registration, "slot " + slot + " is there twice");
  }
  for (const v1::RunningRank& rank : registration.running()) {
    if (!rank.slot().empty() && unused.erase(rank.slot()) == 0) {
      return Refused(registration,
                     absl::StrCat("slot '", rank.slot(), "' of its running rank ", rank.rank(),
                                  " of ", rank.job_id(), " is unknown or used twice"));
    }
  }
  return absl::OkStatus();
}

bool Worker::IsIdle() const {
  return std::none_of(slots.begin(), slots.end(),
                      [](const Slot& slot) { return slot.occupant.has_value(); });
}

const Worker* Cluster::Find(const WorkerName& name) const {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : &it->second;
}

absl::Status Cluster::CheckDevices(const v1::Register& registration) const {
  std::set<std::string> wanted;
  for (const v1::DeviceFacts& device : registration.devices()) wanted.insert(device.uuid());
  wanted.erase("");
  for (const auto& [name, worker] : workers_) {
    if (!worker.connection || name.value() == registration.name()) continue;
    for (const Worker::Slot& slot : worker.slots) {
      if (!wanted.contains(slot.device.uuid())) continue;
      return absl::AlreadyExistsError(
          absl::StrCat("worker '", registration.name(), "' cannot register: worker '", name.value(),
                       "' offers the same device, ", slot.device.uuid(), ", as ", slot.name,
                       "; stop one of them, or give each its own by --slots"));
    }
  }
  return absl::OkStatus();
}

void Cluster::Connect(const v1::Register& registration, ConnectionId connection, Moment now) {
  Worker worker{.name = WorkerName(registration.name()),
                .incarnation = Incarnation(registration.incarnation()),
                .connection = connection,
                .sequence = registration.next_sequence() -
                            std::min<uint64_t>(registration.next_sequence(), 1),
                .host = registration.host(),
                .advertise_address = registration.advertise_address(),
                .version = registration.version(),
                .allows_commands = registration.allows_commands(),
                .slots = {},
                .host_facts = std::nullopt,
                .host_facts_heard = {},
                .connected_at = now.wall,
                .heard = now.steady};
  for (const std::string& slot : registration.slots()) {
    worker.slots.push_back({slot, DeviceOf(slot, registration), std::nullopt});
  }
  const WorkerName name = worker.name;
  const Worker* before = Find(name);
  if (before != nullptr && before->incarnation == worker.incarnation) {
    worker.sequence = std::max(worker.sequence, before->sequence);
  }
  workers_[name] = std::move(worker);
  for (const v1::RunningRank& rank : registration.running()) {
    if (rank.slot().empty()) continue;  // Only its exit is still to be heard of.
    Occupy({name, rank.slot()},
           {JobId(rank.job_id()), AttemptNumber(rank.attempt()), Rank(rank.rank())});
  }
}

void Cluster::Disconnect(const WorkerName& name) { workers_.at(name).connection.reset(); }

void Cluster::Expect(const WorkerName& name, const Incarnation& incarnation,
                     const std::string& slot, const RankId& rank, Moment now) {
  Worker& worker = workers_[name];
  worker.name = name;
  worker.incarnation = incarnation;
  worker.connected_at = now.wall;
  worker.heard = now.steady;
  worker.slots.push_back({slot, {}, rank});
}

void Cluster::SetDraining(const WorkerName& name, bool draining) {
  if (draining) {
    draining_.insert(name);
  } else {
    draining_.erase(name);
  }
}

std::vector<RankId> Cluster::Remove(const WorkerName& name) {
  std::vector<RankId> ranks;
  for (const Worker::Slot& slot : workers_.at(name).slots) {
    if (slot.occupant) ranks.push_back(*slot.occupant);
  }
  workers_.erase(name);
  return ranks;
}

bool Cluster::Hear(const WorkerName& name, ConnectionId connection, Moment now) {
  const auto it = workers_.find(name);
  if (it == workers_.end() || it->second.connection != connection) return false;
  it->second.heard = now.steady;
  return true;
}

void Cluster::NoteHost(const WorkerName& name, const v1::HostFacts& facts, Moment now) {
  Worker& worker = workers_.at(name);
  worker.host_facts = facts;
  worker.host_facts_heard = now.wall;
}

Cluster::Order Cluster::Take(const WorkerName& name, uint64_t sequence) {
  Worker& worker = workers_.at(name);
  if (sequence <= worker.sequence) return Order::kRepeated;
  if (sequence > worker.sequence + 1) return Order::kGap;
  worker.sequence = sequence;
  return Order::kNext;
}

void Cluster::HearAll(Moment now) {
  for (auto& [name, worker] : workers_) worker.heard = now.steady;
}

std::vector<WorkerName> Cluster::SilentSince(absl::Duration deadline) const {
  std::vector<WorkerName> silent;
  for (const auto& [name, worker] : workers_) {
    if (worker.heard <= deadline) silent.push_back(name);
  }
  return silent;
}

void Cluster::Occupy(const Placement& place, const RankId& rank) {
  for (Worker::Slot& slot : workers_.at(place.worker).slots) {
    if (slot.name == place.slot) slot.occupant = rank;
  }
}

bool Cluster::Free(const WorkerName& name, const RankId& rank) {
  const auto it = workers_.find(name);
  if (it == workers_.end()) return false;
  bool found = false;
  for (Worker::Slot& slot : it->second.slots) {
    if (slot.occupant != rank) continue;
    slot.occupant.reset();
    found = true;
  }
  return found;
}

std::vector<WorkerSlots> Cluster::Slots() const {
  std::vector<WorkerSlots> all;
  for (const auto& [name, worker] : workers_) {
    if (!worker.connection || IsDraining(name)) continue;
    std::map<absl::string_view, WorkerSlots> kinds;
    for (const Worker::Slot& slot : worker.slots) {
      WorkerSlots& slots = kinds[KindOfSlot(slot.name)];
      ++slots.total;
      if (!slot.occupant) slots.free.push_back(slot.name);
    }
    for (auto& [kind, slots] : kinds) {
      slots.worker = name;
      slots.allows_commands = worker.allows_commands;
      slots.device = std::string(kind);
      all.push_back(std::move(slots));
    }
  }
  return all;
}

std::map<std::string, uint32_t> Cluster::SlotsAway() const {
  std::map<std::string, uint32_t> kinds;
  for (const auto& [name, worker] : workers_) {
    if (worker.connection && !IsDraining(name)) continue;
    for (const Worker::Slot& slot : worker.slots) ++kinds[std::string(KindOfSlot(slot.name))];
  }
  return kinds;
}

v1::Worker Cluster::ViewOf(const WorkerName& name) const {
  const Worker& worker = workers_.at(name);
  v1::Worker proto;
  proto.set_name(worker.name.value());
  proto.set_incarnation(worker.incarnation.value());
  proto.set_host(worker.host);
  proto.set_state(worker.connection ? v1::WORKER_STATE_CONNECTED : v1::WORKER_STATE_DISCONNECTED);
  proto.set_draining(IsDraining(name));
  proto.set_version(worker.version);
  proto.set_allows_commands(worker.allows_commands);
  *proto.mutable_connected_at() = ToProto(worker.connected_at);
  for (const Worker::Slot& slot : worker.slots) {
    v1::SlotStatus& status = *proto.add_slots();
    status.set_name(slot.name);
    status.set_model(slot.device.model());
    status.set_uuid(slot.device.uuid());
    status.set_memory_bytes(slot.device.total_bytes());
    if (!slot.occupant) continue;
    status.set_job_id(slot.occupant->job.value());
    status.set_attempt(slot.occupant->attempt.value());
    status.set_rank(slot.occupant->rank.value());
  }
  return proto;
}

std::vector<v1::WorkerHost> Cluster::Hosts() const {
  std::vector<v1::WorkerHost> hosts;
  for (const auto& [name, worker] : workers_) {
    if (!worker.connection) continue;
    v1::WorkerHost& host = hosts.emplace_back();
    host.set_worker(name.value());
    if (!worker.host_facts) continue;
    *host.mutable_facts() = *worker.host_facts;
    *host.mutable_heard_at() = ToProto(worker.host_facts_heard);
  }
  return hosts;
}

}  // namespace tandem::core
