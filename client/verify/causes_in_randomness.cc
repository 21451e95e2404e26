// Causes that show in what the seeded generators drew, and runs that do not repeat themselves.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/verify/causes.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

std::string DrawText(uint64_t draw) { return absl::StrFormat("%016x", draw); }

const Leaf* LeafOf(const std::vector<Leaf>& leaves, uint32_t logical_rank) {
  for (const Leaf& leaf : leaves) {
    if (leaf.trace->logical_rank() == logical_rank) return &leaf;
  }
  return nullptr;
}

bool AreKnownAndEqual(const Leaf& a, const Leaf& b) {
  return a.trace->first_draw() != 0 && a.trace->first_draw() == b.trace->first_draw();
}

bool AreKnownAndDifferent(const Leaf& a, const Leaf& b) {
  return a.trace->first_draw() != 0 && b.trace->first_draw() != 0 &&
         a.trace->first_draw() != b.trace->first_draw();
}

struct LeafPair {
  Leaf a, b;
};

// Of logical ranks on different ranks, with equal draws.
std::vector<LeafPair> SharedDraws(const std::vector<Leaf>& leaves) {
  std::vector<LeafPair> shared;
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (size_t j = i + 1; j < leaves.size(); ++j) {
      if (leaves[i].rank != leaves[j].rank && AreKnownAndEqual(leaves[i], leaves[j])) {
        shared.push_back({leaves[i], leaves[j]});
      }
    }
  }
  return shared;
}

bool ShareADraw(const std::vector<Leaf>& leaves, uint32_t a, uint32_t b) {
  const Leaf *first = LeafOf(leaves, a), *second = LeafOf(leaves, b);
  return first != nullptr && second != nullptr && AreKnownAndEqual(*first, *second);
}

// The first logical rank that drew other numbers.
std::optional<LeafPair> DifferentDraw(const std::vector<Leaf>& first,
                                      const std::vector<Leaf>& other) {
  for (const Leaf& leaf : first) {
    const Leaf* match = LeafOf(other, leaf.trace->logical_rank());
    if (match != nullptr && AreKnownAndDifferent(leaf, *match)) return LeafPair{leaf, *match};
  }
  return std::nullopt;
}

std::string WhereItStarts(const Pair& pair) {
  const std::vector<std::string> names = DifferingTensors(TensorsAt(pair.first.ranks.front(), 0),
                                                          TensorsAt(pair.other.ranks.front(), 0));
  if (!names.empty()) return absl::StrCat("the initial weights differ, first ", names.front());
  const std::vector<int64_t> first = BatchAt(pair.first, 1), again = BatchAt(pair.other, 1);
  if (first != again) {
    return absl::StrCat("the samples of step 1 differ, ", IdsText(first), " and ", IdsText(again));
  }
  if (!SameDraws(pair.first, pair.other, 1)) return "the random numbers of step 1 differ";
  return "weights, samples and random numbers begin alike, so what computes does not repeat itself";
}

}  // namespace

bool SameDraws(const Run& first, const Run& other, uint64_t step) {
  return !DifferentDraw(LeavesAt(first, step), LeavesAt(other, step));
}

std::string NotRepeatable(const Pair& pair) {
  return absl::StrFormat(
      "two runs at %s with the same seed differ from step %u on, which has nothing to do with the "
      "number of workers: %s",
      NameOf(pair.first), pair.difference.step(), WhereItStarts(pair));
}

Sentence SameDropoutMask(const Pair& pair) {
  for (uint64_t step = 1; step <= CommonSteps(pair.first, pair.other); ++step) {
    const std::vector<Leaf> there = LeavesAt(pair.first, step);
    for (const auto& [a, b] : SharedDraws(LeavesAt(pair.other, step))) {
      const uint32_t first = a.trace->logical_rank(), second = b.trace->logical_rank();
      if (ShareADraw(there, first, second)) continue;
      return absl::StrFormat(
          "at step %u logical ranks %u and %u, on ranks %u and %u of %s, drew the same random "
          "numbers (first %s), so the same dropout mask came twice; at %s they drew different ones",
          step, first, second, a.rank, b.rank, NameOf(pair.other), DrawText(a.trace->first_draw()),
          NameOf(pair.first));
    }
  }
  return std::nullopt;
}

Sentence DropoutByRank(const Pair& pair) {
  if (SameDropoutMask(pair)) return std::nullopt;
  for (uint64_t step = 1; step <= CommonSteps(pair.first, pair.other); ++step) {
    const auto draw = DifferentDraw(LeavesAt(pair.first, step), LeavesAt(pair.other, step));
    if (!draw) continue;
    return absl::StrFormat(
        "at step %u logical rank %u drew other random numbers on rank %u of %s (first %s) than on "
        "rank %u of %s (first %s), so dropout depends on the rank",
        step, draw->a.trace->logical_rank(), draw->b.rank, NameOf(pair.other),
        DrawText(draw->b.trace->first_draw()), draw->a.rank, NameOf(pair.first),
        DrawText(draw->a.trace->first_draw()));
  }
  return std::nullopt;
}

}  // namespace tandem::verify
