#include "server/core/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/placing.h"
#include "server/core/victims.h"
#include "server/core/waiting_reason.h"

namespace tandem::core {
namespace {

// One call of ScheduleJobs. The queue is gone through in order, one priority after the other. Each job is granted what
// it needs at least; what is then left of a priority's share goes, in the same order, to those who would like more.
class Scheduling {
 public:
  Scheduling(const SchedulerState& state, const SchedulerPolicy& policy, absl::Duration now)
      : policy_(policy), now_(now), workers_(state.workers) {
    std::sort(workers_.begin(), workers_.end(),
              [](const auto& a, const auto& b) { return a.worker < b.worker; });
    std::set<WorkerName> usable;
    for (const WorkerSlots& worker : workers_) {
      usable.insert(worker.worker);
      free_ += static_cast<uint32_t>(worker.free.size());
      all_ += worker.total;
      if (!worker.allows_commands) continue;
      free_for_commands_ += static_cast<uint32_t>(worker.free.size());
      all_for_commands_ += worker.total;
    }
    for (const Demand& demand : state.queue) queue_.push_back(&demand);
    std::sort(queue_.begin(), queue_.end(), ByPrecedence());
    for (const Holding& holding : state.running) AddRunning(holding, usable);
    std::sort(running_.begin(), running_.end(), [](const Running& a, const Running& b) {
      return Precedes(a.holding->precedence, b.holding->precedence);
    });
  }

  Schedule Run() {
    for (size_t i = 0; i < queue_.size(); ++i) {
      if (i > 0 && queue_[i - 1]->precedence.priority > queue_[i]->precedence.priority) {
        EndPriority();
      }
      Consider(*queue_[i]);
    }
    EndPriority();
    Start();
    Grow();
    return std::move(schedule_);
  }

 private:
  struct Running {
    const Holding* holding;
    uint32_t held;
    // Of these, the ones that can be used again when it ends.
    uint32_t returned;
  };
  struct Admitted {
    const Demand* demand;
    uint32_t slots;
  };
  struct ByPrecedence {
    bool operator()(const Demand* a, const Demand* b) const {
      return Precedes(a->precedence, b->precedence);
    }
  };

  void AddRunning(const Holding& holding, const std::set<WorkerName>& usable) {
    Running running{&holding, 0, 0};
    for (const auto& [worker, slots] : holding.slots) {
      running.held += slots;
      if (usable.contains(worker)) running.returned += slots;
    }
    running_.push_back(running);
    victims_.Add(holding, running.returned);
    if (holding.ending) coming_ += running.returned;
  }

  // Commands first where they can be on some workers only: others can be anywhere.
  void Start() {
    if (all_for_commands_ < all_) {
      std::stable_partition(admitted_.begin(), admitted_.end(),
                            [](const Admitted& a) { return a.demand->is_command; });
    }
    for (const auto& [demand, slots] : admitted_) {
      schedule_.starts.push_back({demand->job, TakeSlots(workers_, slots, demand->is_command)});
    }
  }

  uint32_t AllFor(bool is_command) const { return is_command ? all_for_commands_ : all_; }

  // Neither granted nor kept.
  uint32_t FreeFor(bool is_command) const {
    return is_command ? std::min(free_, free_for_commands_) : free_;
  }

  void Grant(Admitted& admitted, uint32_t slots) {
    admitted.slots += slots;
    free_ -= slots;
    if (admitted.demand->is_command) free_for_commands_ -= slots;
  }

  void Consider(const Demand& demand) {
    const uint32_t all = AllFor(demand.is_command);
    if (demand.min > all) {  // It wants nothing of what there is.
      schedule_.waits.push_back({demand.job, CannotFit(demand, all, all_)});
      return;
    }
    if (demand.not_before > now_) return Wait(demand, RestartsIn(demand.not_before - now_));
    if (blocker_ != nullptr) return Wait(demand, WaitsFor(*blocker_, demand));
    if (demand.min > FreeFor(demand.is_command)) return Hold(demand);
    if (const uint32_t share = ShareOf(demand); IsWorthWaiting(demand, share)) {
      Keep(demand, share);
      owed_ += demand.max - share;
      return Wait(demand, CouldStart(demand, share));
    }
    Grant(admitted_.emplace_back(Admitted{&demand, 0}), demand.min);
    wishes_ += demand.max - demand.min;
  }

  // What it would get, were it admitted: those before it come first with their wishes too.
  uint32_t ShareOf(const Demand& demand) const {
    const uint32_t free = FreeFor(demand.is_command);
    return std::max(demand.min, free - std::min(free, wishes_));
  }

  bool IsWorthWaiting(const Demand& demand, uint32_t share) const {
    return share < std::min(demand.max, AllFor(demand.is_command)) && !demand.resumes &&
           now_ < demand.queued + policy_.patience;
  }

  // From now on these are for nobody else.
  void Keep(const Demand& demand, uint32_t slots) {
    if (keeper_ == nullptr) keeper_ = &demand;
    kept_ += slots;
    free_ -= slots;
  }

  // It needs more than is free.
  void Hold(const Demand& demand) {
    if (std::optional<std::string> promise = Promise(demand)) {
      return Wait(demand, *std::move(promise));
    }
    const uint32_t all = AllFor(demand.is_command);
    const uint32_t free = all < all_ ? FreeFor(true) : free_ + kept_;
    const bool is_kept = keeper_ != nullptr && demand.min <= free;
    Wait(demand, is_kept ? WaitsFor(*keeper_, demand) : NeedsMore(demand, free, all));
    if (now_ - demand.queued > policy_.starvation_limit) blocker_ = &demand;
    if (unpromised_ == nullptr) unpromised_ = &demand;
  }

  // Sees to it that there will be enough for it soon, and says how. What is free is kept for it from now on, else
  // somebody behind it would take it and more attempts would have to make room.
  std::optional<std::string> Promise(const Demand& demand) {
    // What ends, and who makes room, may be where it cannot be.
    if (AllFor(demand.is_command) < all_) return std::nullopt;
    const uint32_t have = free_ + coming_;
    Victims::Room room;
    if (have < demand.min) {
      if (!may_make_room_) return std::nullopt;
      room = victims_.Choose(demand, demand.min - have);
      if (room.slots == 0) return std::nullopt;
    }
    std::string reason = NeedsMore(demand, free_ + kept_, all_);
    if (coming_ > 0) absl::StrAppend(&reason, "; waits for ", FewNames(Ending()), " to end");
    if (room.slots > 0) absl::StrAppend(&reason, MakeRoom(demand, room));
    Keep(demand, free_);
    coming_ = have + room.slots - demand.min;
    owed_ += demand.max - demand.min;
    return reason;
  }

  std::vector<JobId> Ending() const {
    std::vector<JobId> jobs;
    for (const Running& running : running_) {
      if (running.holding->ending && running.returned > 0) jobs.push_back(running.holding->job);
    }
    return jobs;
  }

  // Equals are left alone at first: something may become free by itself.
  std::string MakeRoom(const Demand& demand, const Victims::Room& room) {
    const std::string names = FewNames(room.jobs);
    if (room.takes_from_equals && now_ - demand.queued < policy_.patience) {
      return absl::StrCat("; waits a moment before ", names, " will have to make room");
    }
    for (const JobId& job : room.jobs) {
      schedule_.pauses.push_back({job, Schedule::Pause::Why::kMakeRoom,
                                  absl::StrCat("it makes room for ", demand.job.value())});
    }
    return absl::StrCat("; waits for ", names, " to save and make room");
  }

  void Wait(const Demand& demand, std::string reason) {
    slots_are_wanted_ = true;
    schedule_.waits.push_back({demand.job, std::move(reason)});
  }

  // Those below get what those above have left, and nothing while one above waits without knowing how long.
  void EndPriority() {
    for (; granted_ < admitted_.size(); ++granted_) {
      Admitted& admitted = admitted_[granted_];
      const bool is_command = admitted.demand->is_command;
      Grant(admitted, std::min(admitted.demand->max - admitted.slots, FreeFor(is_command)));
    }
    wishes_ = 0;
    const uint32_t paid = std::min(owed_, coming_);
    coming_ -= paid;
    owed_ -= paid;
    // What is made free for somebody below would be taken by those above.
    if (owed_ > 0) may_make_room_ = false;
    if (blocker_ == nullptr) blocker_ = unpromised_;
  }

  // At most one at a time, and only when nothing else moves: what is free can be given once, and what an attempt that
  // ends will take when it comes back is not known.
  void Grow() {
    if (slots_are_wanted_ || free_ == 0) return;
    const auto ends = [](const Running& running) { return running.holding->ending; };
    if (std::any_of(running_.begin(), running_.end(), ends)) return;
    const auto grows = [this](const Running& running) { return MayGrow(running); };
    const auto first = std::find_if(running_.begin(), running_.end(), grows);
    if (first == running_.end()) return;
    schedule_.pauses.push_back({first->holding->job, Schedule::Pause::Why::kGrow,
                                absl::StrCat("it goes on with ", SizeAfterPause(*first),
                                             " workers instead of ", first->held)});
  }

  uint32_t SizeAfterPause(const Running& running) const {
    return std::min(running.holding->max, running.returned + FreeFor(running.holding->is_command));
  }

  bool MayGrow(const Running& running) const {
    const Holding& holding = *running.holding;
    const uint32_t size = SizeAfterPause(running);
    if (!holding.can_pause || size <= running.held || size < holding.min) return false;
    // One that runs with less than it should was asked to be larger.
    return running.held < holding.min || now_ - holding.started >= policy_.settle;
  }

  const SchedulerPolicy& policy_;
  const absl::Duration now_;
  std::vector<WorkerSlots> workers_;
  std::vector<const Demand*> queue_;
  std::vector<Running> running_;
  Victims victims_;
  uint32_t all_ = 0, all_for_commands_ = 0;

  // Slots that are free and neither granted nor kept for a waiting job, whoever it is.
  uint32_t free_ = 0;
  // On workers that allow commands, and not granted to one.
  uint32_t free_for_commands_ = 0;
  uint32_t kept_ = 0;
  // Those of attempts that end, as far as they are not promised.
  uint32_t coming_ = 0;
  // Of this priority: what those who are admitted would like beyond what they need, and what those who wait would
  // beyond what they are promised.
  uint32_t wishes_ = 0;
  uint32_t owed_ = 0;

  std::vector<Admitted> admitted_;
  size_t granted_ = 0;
  // The first for whom something is kept; the first whose wait has no known end; one that nobody may pass.
  const Demand* keeper_ = nullptr;
  const Demand* unpromised_ = nullptr;
  const Demand* blocker_ = nullptr;
  bool may_make_room_ = true;
  bool slots_are_wanted_ = false;
  Schedule schedule_;
};

}  // namespace

bool Precedes(const Precedence& a, const Precedence& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
}

Schedule ScheduleJobs(const SchedulerState& state, const SchedulerPolicy& policy,
                      absl::Duration now) {
  return Scheduling(state, policy, now).Run();
}

}  // namespace tandem::core
