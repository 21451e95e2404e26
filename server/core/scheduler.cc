#include "server/core/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/device_kinds.h"
#include "server/core/placing.h"
#include "server/core/supply.h"
#include "server/core/victims.h"
#include "server/core/waiting_reason.h"

namespace tandem::core {
namespace {

// One call of ScheduleJobs, for one kind of device. The queue is gone through in order, one priority after the other. Each
// job is granted what it needs at least; what is then left of a priority's share goes, in the same order, to those who
// would like more.
class Scheduling {
 public:
  // `state` outlives it, and is left without its workers.
  Scheduling(SchedulerState& state, const SchedulerPolicy& policy, absl::Duration now)
      : policy_(policy), now_(now), workers_(std::move(state.workers)), supply_(workers_) {
    std::sort(workers_.begin(), workers_.end(),
              [](const auto& a, const auto& b) { return a.worker < b.worker; });
    for (const Demand& demand : state.queue) queue_.push_back(&demand);
    std::sort(queue_.begin(), queue_.end(), ByPrecedence());
    for (const Holding& holding : state.running) AddRunning(holding);
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
    SlotCount returned;
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

  void AddRunning(const Holding& holding) {
    Running running{&holding, 0, {}};
    for (const auto& [name, slots] : holding.slots) {
      running.held += slots;
      const auto worker = std::lower_bound(
          workers_.begin(), workers_.end(), name,
          [](const WorkerSlots& one, const WorkerName& other) { return one.worker < other; });
      if (worker == workers_.end() || worker->worker != name) continue;
      running.returned.Add({slots, worker->allows_commands ? slots : 0});
    }
    running_.push_back(running);
    victims_.Add(holding, running.returned);
    if (holding.ending) supply_.Expect(running.returned);
  }

  // Commands first where they can be on some workers only: others can be anywhere, but not on what is kept for a
  // command that waits.
  void Start() {
    if (supply_.IsMixed()) {
      const auto others =
          std::stable_partition(admitted_.begin(), admitted_.end(),
                                [](const Admitted& a) { return a.demand->is_command; });
      Place(admitted_.begin(), others);
      TakeSlots(workers_, supply_.KeptForCommands(), true);
      return Place(others, admitted_.end());
    }
    Place(admitted_.begin(), admitted_.end());
  }

  void Place(std::vector<Admitted>::iterator begin, std::vector<Admitted>::iterator end) {
    for (; begin != end; ++begin) {
      const Demand& demand = *begin->demand;
      std::vector<Placement> places = TakeSlots(workers_, begin->slots, demand.is_command);
      // Were the accounts ever wrong, it would wait for the next time.
      if (!places.empty()) schedule_.starts.push_back({demand.job, std::move(places)});
    }
  }

  void Grant(Admitted& admitted, uint32_t slots) {
    admitted.slots += slots;
    supply_.Grant(admitted.demand->is_command, slots);
  }

  void Consider(const Demand& demand) {
    const bool is_command = demand.is_command;
    const uint32_t all = supply_.AllFor(is_command);
    if (demand.min > all) {  // It wants nothing of what there is.
      schedule_.waits.push_back({demand.job, CannotFit(demand, all, supply_.All())});
      return;
    }
    if (demand.not_before > now_) return Wait(demand, RestartsIn(demand.not_before - now_));
    if (const Demand* blocker = BlockerOf(demand)) return Wait(demand, WaitsFor(*blocker, demand));
    if (demand.min > supply_.FreeFor(is_command)) return Hold(demand);
    // What it would get, were it admitted: those before it come first with their wishes too.
    const uint32_t share = std::max(demand.min, supply_.FreeBesideWishesFor(is_command));
    if (IsWorthWaiting(demand, share)) {
      Keep(demand, share);
      supply_.Owe(is_command, demand.max - share);
      return Wait(demand, CouldStart(demand, share));
    }
    Grant(admitted_.emplace_back(Admitted{&demand, 0}), demand.min);
    supply_.Wish(is_command, demand.max - demand.min);
  }

  bool IsWorthWaiting(const Demand& demand, uint32_t share) const {
    return share < std::min(demand.max, supply_.AllFor(demand.is_command)) && !demand.resumes &&
           now_ < demand.queued + policy_.patience;
  }

  // From now on these are for nobody else.
  void Keep(const Demand& demand, uint32_t slots) {
    if (keeper_ == nullptr && slots > 0) keeper_ = &demand;
    supply_.Keep(demand.is_command, slots);
  }

  // Some workers are not for it.
  bool IsConfined(const Demand& demand) const { return demand.is_command && supply_.IsMixed(); }

  const Demand* BlockerOf(const Demand& demand) const {
    return blocker_ == nullptr && IsConfined(demand) ? confined_blocker_ : blocker_;
  }

  // Nobody may pass it. One that is confined has nothing of the other workers, and leaves them to others.
  void Block(const Demand& demand) {
    if (!IsConfined(demand)) {
      blocker_ = &demand;
      return;
    }
    confined_blocker_ = &demand;
    Keep(demand, supply_.FreeFor(true));
    supply_.LeaveComingToCommands();
    victims_.SpareCommandWorkers();
  }

  // It needs more than is free.
  void Hold(const Demand& demand) {
    if (std::optional<std::string> promise = Promise(demand)) {
      return Wait(demand, *std::move(promise));
    }
    const uint32_t free = supply_.UngrantedFor(demand.is_command);
    const bool is_kept = keeper_ != nullptr && demand.min <= free;
    Wait(demand, is_kept ? WaitsFor(*keeper_, demand)
                         : NeedsMore(demand, free, supply_.AllFor(demand.is_command)));
    if (now_ - demand.queued > policy_.starvation_limit) Block(demand);
    const Demand*& unpromised = IsConfined(demand) ? confined_unpromised_ : unpromised_;
    if (unpromised == nullptr) unpromised = &demand;
  }

  // Sees to it that there will be enough for it soon, and says how. What is free is kept for it from now on, else
  // somebody behind it would take it and more attempts would have to make room.
  std::optional<std::string> Promise(const Demand& demand) {
    const bool is_command = demand.is_command;
    const uint32_t free = supply_.FreeFor(is_command), coming = supply_.ComingFor(is_command);
    Victims::Room room;
    if (free + coming < demand.min) {
      if (!may_make_room_) return std::nullopt;
      room = victims_.Choose(demand, demand.min - free - coming);
      if (room.jobs.empty()) return std::nullopt;
    }
    std::string reason =
        NeedsMore(demand, supply_.UngrantedFor(is_command), supply_.AllFor(is_command));
    if (coming > 0) {
      absl::StrAppend(&reason, "; waits for ", FewNames(EndingFor(is_command)), " to end");
    }
    if (!room.jobs.empty()) absl::StrAppend(&reason, MakeRoom(demand, room));
    Keep(demand, free);
    supply_.Expect(room.slots);
    supply_.Promise(is_command, demand.min - free);
    supply_.Owe(is_command, demand.max - demand.min);
    return reason;
  }

  std::vector<JobId> EndingFor(bool is_command) const {
    std::vector<JobId> jobs;
    for (const Running& running : running_) {
      if (running.holding->ending && running.returned.For(is_command) > 0) {
        jobs.push_back(running.holding->job);
      }
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
      Grant(admitted, std::min(admitted.demand->max - admitted.slots, supply_.FreeFor(is_command)));
    }
    // What is made free for somebody below would be taken by those above.
    if (!supply_.Settle()) may_make_room_ = false;
    for (const Demand* unpromised : {unpromised_, confined_unpromised_}) {
      if (unpromised != nullptr && BlockerOf(*unpromised) == nullptr) Block(*unpromised);
    }
  }

  // At most one at a time, and only when nothing else moves: what is free can be given once, and what an attempt that
  // ends will take when it comes back is not known.
  void Grow() {
    if (slots_are_wanted_ || supply_.FreeFor(false) == 0) return;
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
    const bool is_command = running.holding->is_command;
    return std::min(running.holding->max,
                    running.returned.For(is_command) + supply_.FreeFor(is_command));
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
  Supply supply_;
  std::vector<const Demand*> queue_;
  std::vector<Running> running_;
  Victims victims_;
  std::vector<Admitted> admitted_;
  size_t granted_ = 0;
  // The first for whom something is kept; the first whose wait has no known end; one that nobody may pass. Of those
  // that are confined, the same apart: they are in nobody's way on other workers.
  const Demand* keeper_ = nullptr;
  const Demand *unpromised_ = nullptr, *confined_unpromised_ = nullptr;
  const Demand *blocker_ = nullptr, *confined_blocker_ = nullptr;
  bool may_make_room_ = true;
  bool slots_are_wanted_ = false;
  Schedule schedule_;
};

template <typename Entry>
void Append(std::vector<Entry> more, std::vector<Entry>& all) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

void Append(Schedule more, Schedule& all) {
  Append(std::move(more.starts), all.starts);
  Append(std::move(more.waits), all.waits);
  Append(std::move(more.pauses), all.pauses);
}

}  // namespace

bool Precedes(const Precedence& a, const Precedence& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
}

Schedule ScheduleJobs(SchedulerState state, const SchedulerPolicy& policy, absl::Duration now) {
  Schedule all;
  for (auto& [kind, part] : ByKind(std::move(state))) {
    Append(Scheduling(part, policy, now).Run(), all);
  }
  return all;
}

}  // namespace tandem::core
