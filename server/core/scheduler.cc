#include "server/core/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tandem::core {
namespace {

// The worker to use next for `wanted` slots: the tightest that holds them all, else the one with
// the most.
WorkerSlots& Next(std::vector<WorkerSlots>& workers, size_t wanted) {
  const auto better = [wanted](const WorkerSlots& a, const WorkerSlots& b) {
    const bool a_holds = a.free.size() >= wanted;
    const bool b_holds = b.free.size() >= wanted;
    if (a_holds != b_holds) return a_holds;
    return a_holds ? a.free.size() < b.free.size() : a.free.size() > b.free.size();
  };
  return *std::min_element(workers.begin(), workers.end(), better);
}

// Needs at least `wanted` free slots.
std::vector<Placement> Take(std::vector<WorkerSlots>& workers, size_t wanted) {
  std::vector<Placement> ranks;
  while (ranks.size() < wanted) {
    WorkerSlots& worker = Next(workers, wanted - ranks.size());
    const auto end = worker.free.begin() +
                     static_cast<ptrdiff_t>(std::min(wanted - ranks.size(), worker.free.size()));
    for (auto slot = worker.free.begin(); slot != end; ++slot) {
      ranks.push_back({worker.worker, *slot});
    }
    worker.free.erase(worker.free.begin(), end);
  }
  return ranks;
}

uint32_t Held(const Holding& holding) {
  uint32_t held = 0;
  for (const auto& [worker, slots] : holding.slots) held += slots;
  return held;
}

std::string Needs(const Demand& demand) {
  return absl::StrCat("needs ", demand.min < demand.max ? "at least " : "", demand.min,
                      demand.min == 1 ? " slot" : " slots");
}

std::string WaitsFor(const Demand& first, const Demand& second) {
  return absl::StrCat("waits for ", first.job.value(), ", which ",
                      first.precedence.priority > second.precedence.priority
                          ? "has a higher priority"
                          : "was submitted earlier");
}

// One call of ScheduleJobs.
class Scheduling {
 public:
  Scheduling(const SchedulerState& state, const SchedulerPolicy& policy, absl::Duration now)
      : policy_(policy),
        now_(now),
        workers_(state.workers),
        queue_(state.queue),
        running_(state.running) {
    std::sort(workers_.begin(), workers_.end(),
              [](const auto& a, const auto& b) { return a.worker < b.worker; });
    const auto by_precedence = [](const auto& a, const auto& b) {
      return Precedes(a.precedence, b.precedence);
    };
    std::sort(queue_.begin(), queue_.end(), by_precedence);
    std::sort(running_.begin(), running_.end(), by_precedence);
    for (const WorkerSlots& worker : workers_) {
      usable_.insert(worker.worker);
      free_ += static_cast<uint32_t>(worker.free.size());
      all_ += worker.total;
    }
  }

  Schedule Run() {
    for (const Demand& demand : queue_) Admit(demand);
    StartAdmitted();
    if (first_waiting_ != nullptr) MakeRoom(*first_waiting_);
    if (!slots_are_wanted_) Grow();
    return std::move(schedule_);
  }

 private:
  struct Admitted {
    const Demand* demand;
    uint32_t slots;
  };

  // Grants what the job needs at least, or says why it waits.
  void Admit(const Demand& demand) {
    // What is left of a higher priority's share goes to those who have it, before anybody below.
    if (!admitted_.empty() &&
        admitted_.back().demand->precedence.priority > demand.precedence.priority) {
      GrantMore();
    }
    if (demand.not_before > now_) {
      slots_are_wanted_ = true;
      return Wait(demand, "waits a moment before it is started again");
    }
    if (demand.min > all_) return Wait(demand, WhyItCannotFit(demand));
    if (const Demand* blocker = BlockerOf(demand)) return Block(demand, WaitsFor(*blocker, demand));
    if (free_ < demand.min) return Block(demand, WhyNotNow(demand));
    if (IsWorthWaiting(demand)) {
      patient_ = &demand;
      return Block(demand,
                   absl::StrCat("could start with ", free_, " and waits a moment for more slots"));
    }
    admitted_.push_back({&demand, demand.min});
    free_ -= demand.min;
  }

  bool IsWorthWaiting(const Demand& demand) const {
    const bool could_have_more = free_ < std::min(demand.max, all_);
    return could_have_more && !demand.resumes && now_ < demand.queued + policy_.patience;
  }

  // Who would be delayed if this job took slots now, and must not be.
  const Demand* BlockerOf(const Demand& demand) const {
    if (patient_ != nullptr) return patient_;
    if (starving_ != nullptr) return starving_;
    if (first_waiting_ == nullptr) return nullptr;
    return first_waiting_->precedence.priority > demand.precedence.priority ? first_waiting_
                                                                            : nullptr;
  }

  void Block(const Demand& demand, std::string reason) {
    slots_are_wanted_ = true;
    if (first_waiting_ == nullptr) first_waiting_ = &demand;
    if (starving_ == nullptr && now_ - demand.queued > policy_.starvation_limit) {
      starving_ = &demand;
    }
    Wait(demand, std::move(reason));
  }

  void Wait(const Demand& demand, std::string reason) {
    schedule_.waits.push_back({demand.job, std::move(reason)});
  }

  std::string WhyItCannotFit(const Demand& demand) const {
    if (all_ == 0) return absl::StrCat(Needs(demand), " but no worker is connected");
    return absl::StrCat(Needs(demand), " but all workers together have ", all_);
  }

  std::string WhyNotNow(const Demand& demand) const {
    return absl::StrCat(Needs(demand), ", ", free_, free_ == 1 ? " is" : " are", " free of ", all_);
  }

  // First what each needs, then what each would like, in order.
  void GrantMore() {
    if (patient_ != nullptr || starving_ != nullptr) return;  // What is free is kept for them.
    for (Admitted& admitted : admitted_) {
      const uint32_t more = std::min(admitted.demand->max - admitted.slots, free_);
      admitted.slots += more;
      free_ -= more;
    }
  }

  void StartAdmitted() {
    GrantMore();
    for (const Admitted& admitted : admitted_) {
      schedule_.starts.push_back({admitted.demand->job, Take(workers_, admitted.slots)});
    }
  }

  // Slots that come back when this attempt ends.
  uint32_t Returned(const Holding& holding) const {
    uint32_t slots = 0;
    for (const auto& [worker, count] : holding.slots) slots += usable_.contains(worker) ? count : 0;
    return slots;
  }

  uint32_t SlotsOfEnding() const {
    uint32_t slots = 0;
    for (const Holding& holding : running_) slots += holding.ending ? Returned(holding) : 0;
    return slots;
  }

  // What `demand` gains if this attempt is paused for it; 0: it must not be.
  uint32_t RoomIn(const Holding& holding, const Demand& demand) const {
    if (!holding.can_pause || holding.ending) return 0;
    if (holding.precedence.priority < demand.precedence.priority) return Returned(holding);
    const bool same = holding.precedence.priority == demand.precedence.priority;
    const bool waited = now_ - demand.queued >= policy_.patience;
    const uint32_t held = Returned(holding);
    return same && waited && held > holding.min ? held - holding.min : 0;
  }

  void MakeRoom(const Demand& demand) {
    const uint32_t coming = free_ + SlotsOfEnding();
    if (demand.min <= coming) return;
    const uint32_t needed = demand.min - coming;
    const std::vector<const Holding*> victims = Victims(demand, needed);
    if (victims.empty()) return;
    std::vector<std::string> names;
    for (const Holding* victim : victims) {
      names.push_back(victim->job.value());
      schedule_.pauses.push_back({victim->job, Schedule::Pause::Why::kMakeRoom,
                                  absl::StrCat("it makes room for ", demand.job.value())});
    }
    for (Schedule::Wait& wait : schedule_.waits) {
      if (wait.job != demand.job) continue;
      absl::StrAppend(&wait.reason, "; waits for ", absl::StrJoin(names, ", "),
                      " to save and make room");
    }
  }

  // The lowest and newest that are enough together; none if all would not be.
  std::vector<const Holding*> Victims(const Demand& demand, uint32_t needed) const {
    std::vector<const Holding*> victims;
    uint32_t room = 0;
    for (auto holding = running_.rbegin(); holding != running_.rend() && room < needed; ++holding) {
      const uint32_t more = RoomIn(*holding, demand);
      if (more == 0) continue;
      victims.push_back(&*holding);
      room += more;
    }
    if (room < needed) return {};
    // Of those some may not be needed after all; the higher ones are spared first.
    for (size_t i = victims.size(); i-- > 0;) {
      const uint32_t without = room - RoomIn(*victims[i], demand);
      if (without < needed) continue;
      victims.erase(victims.begin() + static_cast<ptrdiff_t>(i));
      room = without;
    }
    return victims;
  }

  // At most one at a time: what is free can be given once.
  void Grow() {
    for (const Holding& holding : running_) {
      const uint32_t held = Held(holding);
      if (!holding.can_pause || holding.ending || held >= holding.max || free_ == 0) continue;
      const uint32_t next = std::min(holding.max, Returned(holding) + free_);
      if (next <= held || next < holding.min) continue;
      const bool wanted = held < holding.min;  // It was asked for.
      if (!wanted && now_ - holding.started < policy_.settle) continue;
      schedule_.pauses.push_back(
          {holding.job, Schedule::Pause::Why::kGrow,
           absl::StrCat("it goes on with ", next, " workers instead of ", held)});
      return;
    }
  }

  const SchedulerPolicy& policy_;
  const absl::Duration now_;
  std::vector<WorkerSlots> workers_;
  std::vector<Demand> queue_;
  std::vector<Holding> running_;
  std::set<WorkerName> usable_;
  // Not granted yet, and of all workers.
  uint32_t free_ = 0;
  uint32_t all_ = 0;

  std::vector<Admitted> admitted_;
  // The first that waits for slots, the first that has done so for too long, and one that will start in a moment.
  const Demand* first_waiting_ = nullptr;
  const Demand* starving_ = nullptr;
  const Demand* patient_ = nullptr;
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
