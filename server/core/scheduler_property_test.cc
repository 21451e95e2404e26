// What holds for every state, and for every course of events. States and events come from seeds.

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/scheduler.h"

namespace tandem::core {
namespace {

using Why = Schedule::Pause::Why;

constexpr absl::Duration kTick = absl::Milliseconds(500);
constexpr absl::Duration kForever = absl::Hours(10000);

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint32_t Between(uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(engine_() % (high - low + 1));
  }
  bool Throw(uint32_t of_100) { return Between(1, 100) <= of_100; }
  template <typename T>
  void Shuffle(std::vector<T>& elements) {
    std::shuffle(elements.begin(), elements.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

uint32_t Held(const Holding& holding) {
  uint32_t held = 0;
  for (const auto& [worker, slots] : holding.slots) held += slots;
  return held;
}

// Workers with named slots, and the jobs on them: what a coordinator knows, in small.
class Cluster {
 public:
  explicit Cluster(SchedulerPolicy policy) : policy_(policy) {}

  void AddWorker(uint32_t slots, bool allows_commands = true) {
    const WorkerName name(absl::StrCat("w", workers_.size()));
    if (!allows_commands) without_commands_.insert(name);
    for (uint32_t i = 0; i < slots; ++i) workers_[name][absl::StrCat("cpu:", i)];
  }

  JobId Submit(Demand demand, absl::Duration length) {
    demand.job = JobId(absl::StrCat("job-", jobs_.size()));
    demand.precedence.sequence = jobs_.size();
    demand.queued = now_;
    jobs_[demand.job] = {.demand = demand, .left = length, .holding = {}, .ends = {}};
    return demand.job;
  }

  SchedulerState State() const {
    SchedulerState state;
    for (const auto& [name, slots] : workers_) {
      WorkerSlots worker{
          name, {}, static_cast<uint32_t>(slots.size()), !without_commands_.contains(name)};
      for (const auto& [slot, job] : slots) {
        if (!job) worker.free.push_back(slot);
      }
      state.workers.push_back(worker);
    }
    for (const auto& [id, job] : jobs_) {
      if (job.holding) state.running.push_back(*job.holding);
      if (!job.holding && job.left > absl::ZeroDuration()) state.queue.push_back(job.demand);
    }
    return state;
  }

  Schedule Plan() const { return ScheduleJobs(State(), policy_, now_); }

  // Does what the schedule says; a pause takes up to 2 s.
  void Do(const Schedule& schedule, Dice& dice) {
    for (const Schedule::Start& start : schedule.starts) Start(start, dice);
    for (const Schedule::Pause& pause : schedule.pauses) {
      Job& job = jobs_.at(pause.job);
      job.holding->ending = true;
      job.ends = now_ + dice.Between(1, 4) * kTick;
    }
  }

  void Pass(absl::Duration time) {
    now_ += time;
    for (auto& [id, job] : jobs_) {
      if (!job.holding) continue;
      job.left -= time;
      const bool is_done = job.left <= absl::ZeroDuration();
      if (!is_done && !(job.ends && *job.ends <= now_)) continue;
      job.holding.reset();
      job.ends.reset();
      job.demand.queued = now_;
      job.demand.resumes = true;
      for (auto& [name, slots] : workers_) {
        for (auto& [slot, occupant] : slots) {
          if (occupant == id) occupant.reset();
        }
      }
    }
  }

  void End(const JobId& job) {
    jobs_.at(job).left = absl::ZeroDuration();
    Pass(absl::ZeroDuration());
  }

  bool IsRunning(const JobId& job) const { return jobs_.at(job).holding.has_value(); }
  bool IsDone(const JobId& job) const { return jobs_.at(job).left <= absl::ZeroDuration(); }
  Holding& HoldingOf(const JobId& job) { return *jobs_.at(job).holding; }
  Demand& DemandOf(const JobId& job) { return jobs_.at(job).demand; }
  absl::Duration now() const { return now_; }
  size_t size() const { return jobs_.size(); }

 private:
  struct Job {
    Demand demand;
    absl::Duration left;
    std::optional<Holding> holding;
    std::optional<absl::Duration> ends;
  };

  void Start(const Schedule::Start& start, Dice& dice) {
    Job& job = jobs_.at(start.job);
    job.holding = {.job = start.job,
                   .precedence = job.demand.precedence,
                   .min = job.demand.min,
                   .max = job.demand.max,
                   .slots = {},
                   .started = now_,
                   .can_pause = job.demand.min < job.demand.max || dice.Throw(70),
                   .is_command = job.demand.is_command};
    for (const Placement& place : start.ranks) {
      std::optional<JobId>& occupant = workers_.at(place.worker).at(place.slot);
      EXPECT_FALSE(occupant) << place.slot << " of " << place.worker.value() << " is used twice";
      occupant = start.job;
      ++job.holding->slots[place.worker];
    }
  }

  const SchedulerPolicy policy_;
  absl::Duration now_ = absl::Hours(1);
  std::map<WorkerName, std::map<std::string, std::optional<JobId>>> workers_;
  std::set<WorkerName> without_commands_;
  std::map<JobId, Job> jobs_;
};

Demand RandomDemand(Dice& dice, uint32_t most, int priorities) {
  Demand demand;
  demand.precedence.priority = static_cast<int32_t>(dice.Between(1, priorities));
  demand.max = dice.Between(1, most);
  demand.min = dice.Throw(50) ? demand.max : dice.Between(1, demand.max);
  demand.is_command = dice.Throw(40);
  return demand;
}

// In every second cluster some allow no commands.
void AddWorkers(Cluster& cluster, Dice& dice) {
  const uint32_t count = dice.Between(1, 5);
  const uint32_t allow = dice.Throw(50) ? 50 : 100;
  for (uint32_t i = 0; i < count; ++i) cluster.AddWorker(dice.Between(1, 4), dice.Throw(allow));
}

// A state in the middle of things: jobs run, end, wait for the first time or again.
Cluster RandomCluster(Dice& dice) {
  Cluster cluster{SchedulerPolicy()};
  AddWorkers(cluster, dice);
  for (uint32_t i = 0; i < dice.Between(0, 6); ++i) {
    cluster.Submit(RandomDemand(dice, 6, 3), kForever);
    cluster.Pass(dice.Between(0, 10) * kTick);
    if (dice.Throw(70)) cluster.Do(cluster.Plan(), dice);
  }
  for (uint32_t i = 0; i < dice.Between(0, 6); ++i) {
    const JobId job = cluster.Submit(RandomDemand(dice, 8, 3), kForever);
    Demand& demand = cluster.DemandOf(job);
    demand.queued -= dice.Between(0, 90) * absl::Seconds(1);
    demand.resumes = dice.Throw(30);
    if (dice.Throw(15)) demand.not_before = cluster.now() + absl::Seconds(dice.Between(0, 20));
  }
  return cluster;
}

// As above, and then some end, those who wait may give up, and a worker may come: from now on nothing happens but what the scheduler does.
Cluster SteadyCluster(Dice& dice) {
  Cluster cluster = RandomCluster(dice);
  const SchedulerState state = cluster.State();
  for (const Holding& holding : state.running) {
    if (dice.Throw(40)) cluster.End(holding.job);
  }
  const uint32_t give_up = dice.Throw(60) ? 100 : 30;
  for (const Demand& demand : state.queue) {
    if (dice.Throw(give_up)) cluster.End(demand.job);
  }
  if (dice.Throw(30)) cluster.AddWorker(dice.Between(1, 3));
  return cluster;
}

// One schedule of one state: what must be so whatever the state is.
class Check {
 public:
  Check(const SchedulerState& state, absl::Duration now)
      : state_(state), now_(now), schedule_(ScheduleJobs(state, policy_, now)) {
    for (const WorkerSlots& worker : state.workers) {
      all_ += worker.total;
      const auto free = static_cast<uint32_t>(worker.free.size());
      free_ += free;
      if (worker.allows_commands) {
        all_for_commands_ += worker.total;
        free_for_commands_ += free;
        allow_commands_.insert(worker.worker);
      }
      for (const std::string& slot : worker.free) open_.insert({worker.worker.value(), slot});
    }
    for (const Demand& demand : state.queue) queue_[demand.job] = &demand;
    for (const Holding& holding : state.running) running_[holding.job] = &holding;
  }

  void All() {
    EachEntryStartsOrWaits();
    StartsAreWholeAndWithinBounds();
    NobodyIsPassedWhoMustNotBe();
    FirstInLineStartsOrLosesNothing();
    NobodyWaitsBesideFreeSlots();
    PausesHaveAReason();
    OrderOfTheInputDoesNotMatter();
  }

 private:
  uint32_t AllFor(const Demand& demand) const {
    return demand.is_command ? all_for_commands_ : all_;
  }
  uint32_t FreeFor(const Demand& demand) const {
    return demand.is_command ? free_for_commands_ : free_;
  }
  bool IsConfined(const Demand& demand) const {
    return demand.is_command && all_for_commands_ < all_;
  }
  bool CanStart(const Demand& demand) const {
    return demand.min <= AllFor(demand) && demand.not_before <= now_;
  }
  bool IsPatient(const Demand& demand) const {
    return !demand.resumes && now_ < demand.queued + policy_.patience;
  }
  bool UsesCommandWorkers(const Schedule::Start& start) const {
    return std::any_of(start.ranks.begin(), start.ranks.end(), [&](const Placement& place) {
      return allow_commands_.contains(place.worker);
    });
  }
  // On all workers, or on those that allow commands, or on the others.
  uint32_t Left(bool with_command_workers, bool with_others) const {
    uint32_t left = 0;
    for (const auto& [worker, slot] : open_) {
      left += allow_commands_.contains(WorkerName(worker)) ? with_command_workers : with_others;
    }
    return left;
  }

  void EachEntryStartsOrWaits() {
    std::multiset<JobId> seen;
    for (const auto& start : schedule_.starts) seen.insert(start.job);
    for (const auto& wait : schedule_.waits) {
      seen.insert(wait.job);
      EXPECT_FALSE(wait.reason.empty());
    }
    std::multiset<JobId> queued;
    for (const auto& [job, demand] : queue_) queued.insert(job);
    EXPECT_EQ(seen, queued);
  }

  void StartsAreWholeAndWithinBounds() {
    for (const Schedule::Start& start : schedule_.starts) {
      const Demand& demand = *queue_.at(start.job);
      EXPECT_GE(start.ranks.size(), demand.min);
      EXPECT_LE(start.ranks.size(), demand.max);
      EXPECT_LE(demand.not_before, now_);
      std::set<WorkerName> left;
      for (size_t rank = 0; rank < start.ranks.size(); ++rank) {
        const Placement& place = start.ranks[rank];
        EXPECT_TRUE(!demand.is_command || allow_commands_.contains(place.worker));
        EXPECT_EQ(open_.erase({place.worker.value(), place.slot}), 1U) << "not free, or used twice";
        if (rank == 0 || start.ranks[rank - 1].worker == place.worker) continue;
        left.insert(start.ranks[rank - 1].worker);
        EXPECT_FALSE(left.contains(place.worker)) << "the ranks of a worker are not contiguous";
      }
    }
  }

  void NobodyIsPassedWhoMustNotBe() {
    for (const Schedule::Wait& wait : schedule_.waits) {
      const Demand& first = *queue_.at(wait.job);
      if (!CanStart(first)) continue;
      for (const Schedule::Start& start : schedule_.starts) {
        const Demand& other = *queue_.at(start.job);
        if (!Precedes(first.precedence, other.precedence)) continue;
        // It has nothing of the other workers.
        if (IsConfined(first) && !UsesCommandWorkers(start)) continue;
        EXPECT_EQ(first.precedence.priority, other.precedence.priority);
        EXPECT_LE(now_ - first.queued, policy_.starvation_limit);
      }
    }
  }

  // If it waits for more, nobody takes what it could start with.
  void FirstInLineStartsOrLosesNothing() {
    const Demand* first = nullptr;
    for (const auto& [job, demand] : queue_) {
      if (!CanStart(*demand)) continue;
      if (first == nullptr || Precedes(demand->precedence, first->precedence)) first = demand;
    }
    if (first == nullptr || first->min > FreeFor(*first)) return;
    if (std::any_of(schedule_.starts.begin(), schedule_.starts.end(),
                    [&](const auto& start) { return start.job == first->job; })) {
      return;
    }
    EXPECT_TRUE(IsPatient(*first) && FreeFor(*first) < first->max) << first->job.value();
    EXPECT_GE(Left(true, !first->is_command), FreeFor(*first)) << first->job.value();
  }

  // Only somebody before it can have a claim to them, and a command only where it may be.
  void NobodyWaitsBesideFreeSlots() {
    for (const Schedule::Wait& wait : schedule_.waits) {
      const Demand& demand = *queue_.at(wait.job);
      if (!CanStart(demand) || IsPatient(demand)) continue;
      bool claimed = false, claimed_by_command = false;
      for (const Schedule::Wait& other : schedule_.waits) {
        const Demand& first = *queue_.at(other.job);
        if (!CanStart(first) || !Precedes(first.precedence, demand.precedence)) continue;
        (IsConfined(first) && !demand.is_command ? claimed_by_command : claimed) = true;
      }
      if (claimed) continue;
      EXPECT_LT(Left(!claimed_by_command, !demand.is_command), demand.min) << wait.job.value();
    }
  }

  void PausesHaveAReason() {
    std::set<JobId> paused;
    uint32_t growing = 0;
    for (const Schedule::Pause& pause : schedule_.pauses) {
      const Holding& holding = *running_.at(pause.job);
      EXPECT_TRUE(paused.insert(pause.job).second);
      EXPECT_TRUE(holding.can_pause);
      EXPECT_FALSE(holding.ending);
      if (pause.why == Why::kGrow) {
        ++growing;
        EXPECT_LT(Held(holding), holding.max);
        continue;
      }
      const bool is_elastic = Held(holding) > holding.min;
      EXPECT_TRUE(std::any_of(
          schedule_.waits.begin(), schedule_.waits.end(), [&](const Schedule::Wait& wait) {
            const Demand& demand = *queue_.at(wait.job);
            const int32_t its = holding.precedence.priority, waits = demand.precedence.priority;
            return CanStart(demand) && (its < waits || (its == waits && is_elastic &&
                                                        now_ - demand.queued >= policy_.patience));
          }));
    }
    EXPECT_LE(growing, 1U);
  }

  void OrderOfTheInputDoesNotMatter() {
    SchedulerState state = state_;
    Dice dice(state.queue.size());
    dice.Shuffle(state.workers);
    dice.Shuffle(state.queue);
    dice.Shuffle(state.running);
    const Schedule other = ScheduleJobs(state, policy_, now_);
    EXPECT_EQ(Text(schedule_), Text(other));
  }

  static std::string Text(const Schedule& schedule) {
    std::string text;
    for (const auto& start : schedule.starts) {
      absl::StrAppend(&text, start.job.value(), " starts on");
      for (const auto& rank : start.ranks) {
        absl::StrAppend(&text, " ", rank.worker.value(), "/", rank.slot);
      }
      absl::StrAppend(&text, "\n");
    }
    for (const auto& wait : schedule.waits) {
      absl::StrAppend(&text, wait.job.value(), " ", wait.reason, "\n");
    }
    for (const auto& pause : schedule.pauses) {
      absl::StrAppend(&text, pause.job.value(), " pauses: ", pause.reason, "\n");
    }
    return text;
  }

  const SchedulerPolicy policy_;
  const SchedulerState& state_;
  const absl::Duration now_;
  const Schedule schedule_;
  uint32_t all_ = 0, all_for_commands_ = 0;
  uint32_t free_ = 0, free_for_commands_ = 0;
  std::set<WorkerName> allow_commands_;
  std::set<std::pair<std::string, std::string>> open_;
  std::map<JobId, const Demand*> queue_;
  std::map<JobId, const Holding*> running_;
};

TEST(SchedulerProperties, AnyState_RulesHold) {
  for (uint64_t seed = 0; seed < 5000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Dice dice(seed);
    const Cluster cluster = RandomCluster(dice);
    Check(cluster.State(), cluster.now()).All();
  }
}

// Jobs come and go for a while; what holds for any state holds for these too, and in the end all are done.
TEST(SchedulerProperties, AnyCourse_RulesHoldAndEveryJobEnds) {
  for (uint64_t seed = 0; seed < 30 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Dice dice(seed);
    Cluster cluster{SchedulerPolicy()};
    cluster.AddWorker(4);
    AddWorkers(cluster, dice);
    std::vector<JobId> jobs;
    for (int tick = 0; tick < 3000; ++tick) {
      if (jobs.size() < 40 && dice.Throw(10)) {
        Demand demand = RandomDemand(dice, 5, 2);
        // There are so many for it, whatever the dice say.
        if (demand.is_command) demand.min = std::min(demand.min, 4U);
        jobs.push_back(cluster.Submit(demand, absl::Seconds(dice.Between(1, 60))));
      }
      Check(cluster.State(), cluster.now()).All();
      cluster.Do(cluster.Plan(), dice);
      cluster.Pass(kTick);
    }
    for (const JobId& job : jobs) EXPECT_TRUE(cluster.IsDone(job)) << job.value();
  }
}

// How long a job waits that needs all slots while small ones, of up to 30 s, never cease to come.
absl::Duration WaitOfABigJob(SchedulerPolicy policy, uint64_t seed) {
  Dice dice(seed);
  Cluster cluster(policy);
  cluster.AddWorker(4);
  Demand small, big;
  big.min = big.max = 4;
  cluster.Submit(small, absl::Seconds(30));
  const JobId waiting = cluster.Submit(big, kForever);
  const absl::Duration since = cluster.now();
  while (cluster.now() - since < absl::Hours(1)) {
    if (cluster.State().queue.size() < 8) {
      cluster.Submit(small, absl::Seconds(dice.Between(10, 30)));
    }
    cluster.Do(cluster.Plan(), dice);
    if (cluster.IsRunning(waiting)) break;
    cluster.Pass(kTick);
  }
  return cluster.now() - since;
}

TEST(SchedulerProperties, SmallJobsNeverCease_BigOneStarts) {
  SchedulerPolicy without_limit;
  without_limit.starvation_limit = absl::InfiniteDuration();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_LE(WaitOfABigJob(SchedulerPolicy(), seed),
              SchedulerPolicy().starvation_limit + absl::Seconds(30) + 2 * kTick);
    // Control: it would wait for ever.
    EXPECT_GE(WaitOfABigJob(without_limit, seed), absl::Hours(1));
  }
}

// Nobody comes and nobody goes: after a while nothing moves any more, and nobody who grew has to make room.
TEST(SchedulerProperties, SteadyQueue_ComesToRestAndGrowthIsNotTakenBack) {
  int grown = 0, made_room = 0;
  for (uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Dice dice(seed);
    Cluster cluster = SteadyCluster(dice);
    std::map<JobId, int> pauses;
    bool has_grown = false;
    for (int tick = 0; tick < 300; ++tick) {
      const Schedule schedule = cluster.Plan();
      for (const Schedule::Pause& pause : schedule.pauses) {
        EXPECT_LT(tick, 250) << pause.job.value() << " is paused again and again";
        EXPECT_FALSE(has_grown && pause.why == Why::kMakeRoom) << pause.reason;
        has_grown = has_grown || pause.why == Why::kGrow;
        ++(pause.why == Why::kGrow ? grown : made_room);
        ++pauses[pause.job];
      }
      cluster.Do(schedule, dice);
      cluster.Pass(kTick);
    }
    for (const auto& [job, count] : pauses) EXPECT_LE(count, 4) << job.value();
  }
  EXPECT_GT(grown, 40);
  EXPECT_GT(made_room, 50);
}

// Whoever is paused to grow has more afterwards, whichever else is elastic.
TEST(SchedulerProperties, Growth_IsNeverInVain) {
  int grown = 0;
  for (uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Dice dice(seed);
    Cluster cluster = SteadyCluster(dice);
    std::map<JobId, uint32_t> before;
    for (int tick = 0; tick < 200; ++tick) {
      const Schedule schedule = cluster.Plan();
      for (const Schedule::Pause& pause : schedule.pauses) {
        if (pause.why != Why::kGrow) continue;
        before[pause.job] = Held(cluster.HoldingOf(pause.job));
      }
      cluster.Do(schedule, dice);
      for (const Schedule::Start& start : schedule.starts) {
        const auto was = before.find(start.job);
        if (was == before.end()) continue;
        EXPECT_GT(start.ranks.size(), was->second) << start.job.value();
        before.erase(was);
        ++grown;
      }
      cluster.Pass(kTick);
    }
  }
  EXPECT_GT(grown, 40);
}

}  // namespace
}  // namespace tandem::core
