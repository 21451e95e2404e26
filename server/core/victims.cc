#include "server/core/victims.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tandem::core {
namespace {

// An attempt of lower priority goes as a whole. One of the same goes on with what it needs at least.
SlotCount GainFor(const Demand& demand, const Holding& holding, const SlotCount& returned) {
  if (holding.precedence.priority < demand.precedence.priority) return returned;
  const uint32_t gain = returned.all > holding.min ? returned.all - holding.min : 0;
  return {gain, std::min(gain, returned.for_commands)};
}

}  // namespace

void Victims::Add(const Holding& holding, const SlotCount& returned) {
  if (!holding.can_pause || holding.ending || returned.all == 0) return;
  givers_.push_back({&holding, returned});
  most_.Add(returned);
}

void Victims::SpareCommandWorkers() {
  for (Giver& giver : givers_) giver.returned.Take(true, giver.returned.for_commands);
  most_.Take(true, most_.for_commands);
}

void Victims::Sort() {
  if (std::exchange(sorted_, true)) return;
  std::sort(givers_.begin(), givers_.end(), [](const Giver& a, const Giver& b) {
    return Precedes(b.holding->precedence, a.holding->precedence);
  });
}

std::vector<Victims::Level> Victims::LevelsFor(const Demand& demand) {
  std::vector<Level> levels;
  int32_t priority = 0;
  for (Giver& giver : givers_) {
    const int32_t its = giver.holding->precedence.priority;
    if (its > demand.precedence.priority) break;
    const SlotCount gain = GainFor(demand, *giver.holding, giver.returned);
    const uint32_t room = gain.For(demand.is_command);
    if (giver.chosen || room == 0) continue;
    if (levels.empty() || its != priority) levels.emplace_back();
    priority = its;
    levels.back().candidates.push_back({&giver, gain, room});
    levels.back().room += room;
  }
  return levels;
}

// The largest ones, until one is enough for the rest; of those that would be, the newest.
std::vector<Victims::Candidate> Victims::Fewest(std::vector<Candidate> candidates,
                                                uint32_t needed) {
  const std::vector<Candidate> newest_first = candidates;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.room > b.room; });
  std::vector<Candidate> fewest;
  for (const Candidate& largest : candidates) {
    if (largest.room >= needed) break;
    fewest.push_back(largest);
    needed -= largest.room;
  }
  const auto last =
      std::find_if(newest_first.begin(), newest_first.end(), [&](const Candidate& one) {
        const bool taken = std::any_of(fewest.begin(), fewest.end(), [&](const Candidate& other) {
          return other.giver == one.giver;
        });
        return one.room >= needed && !taken;
      });
  fewest.push_back(*last);
  return fewest;
}

void Victims::Choose(const Candidate& candidate, const Demand& demand, Room& room) {
  candidate.giver->chosen = true;
  const Holding& holding = *candidate.giver->holding;
  room.jobs.push_back(holding.job);
  room.slots.Add(candidate.gain);
  room.takes_from_equals |= holding.precedence.priority == demand.precedence.priority;
}

Victims::Room Victims::Choose(const Demand& demand, uint32_t needed) {
  if (most_.For(demand.is_command) < needed) return {};
  Sort();
  std::vector<Level> levels = LevelsFor(demand);
  uint32_t below = 0;
  size_t count = 0;
  while (count < levels.size() && below < needed) below += levels[count++].room;
  if (below < needed) return {};
  // A level gives what all those below it together cannot.
  Room room;
  uint32_t gained = 0;
  while (count-- > 0 && gained < needed) {
    below -= levels[count].room;
    if (gained + below >= needed) continue;
    for (const Candidate& one :
         Fewest(std::move(levels[count].candidates), needed - gained - below)) {
      Choose(one, demand, room);
      gained += one.room;
      most_.all -= one.giver->returned.all;
      most_.for_commands -= one.giver->returned.for_commands;
    }
  }
  return room;
}

}  // namespace tandem::core
