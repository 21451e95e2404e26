#include "worker/device/tree_sum_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::device {
namespace {

// A node as what is to be done for it.
using Terms = std::vector<TreeTerm>;

struct AddTermsOf {
  Terms operator()(Terms left, Terms right) const {
    right.back().additions += 1;
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }
};
using Tree = ddp::TreeAccumulator<std::optional<Terms>, ddp::AddPresent<AddTermsOf>>;

absl::StatusOr<Terms> TermsOf(const TreeSum& sum, size_t segment) {
  Tree tree({});
  for (const TreeSum::Block& block : sum.blocks) {
    std::optional<Terms> node;
    if (block.present[segment]) node = Terms{{block.values, 0}};
    tree.Push({block.begin, block.size}, std::move(node));
  }
  if (tree.nodes().size() != 1) {
    return absl::InternalError(absl::StrFormat("%d blocks are the leaves of %d nodes, not of one",
                                               sum.blocks.size(), tree.nodes().size()));
  }
  return tree.nodes().front().value.value_or(Terms());
}

bool SamePresence(const TreeSum& sum, size_t a, size_t b) {
  return std::all_of(sum.blocks.begin(), sum.blocks.end(), [&](const TreeSum::Block& block) {
    return (block.present[a] != 0) == (block.present[b] != 0);
  });
}

// How many elements an address is past an aligned one.
int64_t Misalignment(const float* address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) / sizeof(float) % kVector);
}

// Vectors are for addresses that are aligned together.
TreeRun MakeRun(int64_t begin, int64_t end, const Terms& terms, const float* sum) {
  TreeRun run = {begin, end, end, end, 0, static_cast<uint32_t>(terms.size())};
  const int64_t misaligned = Misalignment(sum);
  const bool together = std::all_of(terms.begin(), terms.end(), [&](const TreeTerm& term) {
    return Misalignment(term.values) == misaligned;
  });
  const int64_t first = begin + (kVector - (misaligned + begin) % kVector) % kVector;
  if (!together || first + kVector > end) return run;
  run.vectors_begin = first;
  run.vectors_end = first + (end - first) / kVector * kVector;
  return run;
}

}  // namespace

absl::StatusOr<TreePlan> PlanTreeSum(const TreeSum& sum) {
  TreePlan plan;
  const size_t segments = sum.offsets.empty() ? 0 : sum.offsets.size() - 1;
  for (size_t first = 0, next = 0; first < segments; first = next) {
    while (next < segments && SamePresence(sum, first, next)) ++next;
    const absl::StatusOr<Terms> terms = TermsOf(sum, first);
    if (!terms.ok()) return terms.status();
    const int64_t begin = sum.offsets[first], end = sum.offsets[next];
    if (terms->empty() || begin == end) continue;
    plan.runs.push_back(MakeRun(begin, end, *terms, sum.sum));
    plan.runs.back().first_term = static_cast<uint32_t>(plan.terms.size());
    std::copy(terms->begin(), terms->end(), std::back_inserter(plan.terms));
  }
  return plan;
}

}  // namespace tandem::device
