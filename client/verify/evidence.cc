#include "client/verify/evidence.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tandem::verify {
namespace {

uint64_t TracedSteps(const Run& run) {
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (const RankTrace& rank : run.ranks) {
    fewest = std::min<uint64_t>(fewest, rank.steps.size());
  }
  return run.ranks.empty() ? 0 : fewest;
}

}  // namespace

std::string NameOf(const Run& run) { return absl::StrCat("W = ", run.world_size); }

const v1::StepTrace* StepOf(const RankTrace& rank, uint64_t step) {
  return step >= 1 && step <= rank.steps.size() ? &rank.steps[step - 1] : nullptr;
}

std::vector<Leaf> LeavesAt(const Run& run, uint64_t step) {
  std::vector<Leaf> leaves;
  for (const RankTrace& rank : run.ranks) {
    const v1::StepTrace* trace = StepOf(rank, step);
    if (trace == nullptr) continue;
    for (const v1::LeafTrace& leaf : trace->leaves()) {
      leaves.push_back({rank.header.rank(), &leaf});
    }
  }
  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return a.trace->logical_rank() < b.trace->logical_rank();
  });
  return leaves;
}

std::vector<int64_t> BatchAt(const Run& run, uint64_t step) {
  std::vector<int64_t> ids;
  for (const Leaf& leaf : LeavesAt(run, step)) {
    ids.insert(ids.end(), leaf.trace->samples().begin(), leaf.trace->samples().end());
  }
  return ids;
}

std::map<uint64_t, EpochOrder> EpochsOf(const Run& run) {
  std::map<uint64_t, EpochOrder> epochs;
  if (run.ranks.empty()) return epochs;
  for (const v1::StepTrace& step : run.ranks.front().steps) {
    const std::vector<int64_t> batch = BatchAt(run, step.step());
    EpochOrder& epoch = epochs[step.epoch()];
    epoch.samples.insert(epoch.samples.end(), batch.begin(), batch.end());
  }
  const uint64_t whole = run.ranks.front().header.training_samples();
  for (auto& [number, epoch] : epochs) {
    epoch.complete =
        number != epochs.rbegin()->first || (whole > 0 && epoch.samples.size() >= whole);
  }
  return epochs;
}

const Tensors& TensorsAt(const RankTrace& rank, uint64_t step) {
  static const auto& none = *new Tensors;
  if (step == 0) return rank.header.tensors();
  const v1::StepTrace* trace = StepOf(rank, step);
  return trace == nullptr ? none : trace->tensors();
}

bool Has(const Tensors& tensors, const std::string& name) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const v1::TensorDigest& tensor) { return tensor.name() == name; });
}

std::vector<std::string> DifferingTensors(const Tensors& first, const Tensors& other) {
  std::map<absl::string_view, absl::string_view> only_other;
  for (const v1::TensorDigest& tensor : other) only_other[tensor.name()] = tensor.sha256();
  std::vector<std::string> names;
  for (const v1::TensorDigest& tensor : first) {
    const auto found = only_other.find(tensor.name());
    const bool equal = found != only_other.end() && found->second == tensor.sha256();
    if (!equal) names.push_back(tensor.name());
    if (found != only_other.end()) only_other.erase(found);
  }
  for (const v1::TensorDigest& tensor : other) {
    if (only_other.contains(tensor.name())) names.push_back(tensor.name());
  }
  return names;
}

uint64_t CommonSteps(const Run& first, const Run& other) {
  return std::min(TracedSteps(first), TracedSteps(other));
}

}  // namespace tandem::verify
