#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/verify/evidence.h"

// A small job that keeps the promise, for tests that spoil it: 16 samples in batches of 4, so that 8
// steps are two epochs; 2 logical ranks; two parameters and the statistics of a batch norm.
namespace tandem::verify {

inline constexpr uint64_t kSteps = 8;
inline constexpr uint32_t kLogicalRanks = 2;
inline constexpr int kSamples = 16;
inline constexpr int kBatch = 4;
inline constexpr const char* kTensors[] = {"fc.weight", "fc.bias", "bn.running_mean"};

// Position `at` of an epoch has this sample: another order in each of the first epochs.
inline int64_t SampleAt(uint64_t epoch, int at) {
  constexpr int kStrides[] = {5, 11, 3, 13};  // each without a divisor in common with 16
  return (int64_t{at} * kStrides[epoch % 4] + static_cast<int64_t>(epoch)) % kSamples;
}

inline v1::TensorDigest Digest(const std::string& name, const std::string& bytes) {
  v1::TensorDigest digest;
  digest.set_name(name);
  digest.set_sha256(bytes);
  return digest;
}

inline v1::LeafTrace MakeLeaf(uint32_t logical_rank, uint64_t step) {
  constexpr int kShare = kBatch / static_cast<int>(kLogicalRanks);
  v1::LeafTrace leaf;
  leaf.set_logical_rank(logical_rank);
  leaf.set_first_draw(0x1000 * step + logical_rank + 1);
  const int begin = static_cast<int>(step - 1) % (kSamples / kBatch) * kBatch;
  for (int i = 0; i < kShare; ++i) {
    const int at = begin + static_cast<int>(logical_rank) * kShare + i;
    leaf.add_samples(SampleAt((step - 1) * kBatch / kSamples, at));
  }
  return leaf;
}

inline v1::StepTrace MakeStep(uint64_t step, uint32_t begin, uint32_t end) {
  v1::StepTrace trace;
  trace.set_step(step);
  trace.set_epoch((step - 1) * kBatch / kSamples);
  for (uint32_t leaf = begin; leaf < end; ++leaf) *trace.add_leaves() = MakeLeaf(leaf, step);
  trace.set_gradient_norm(2.5);
  for (const char* name : kTensors) {
    *trace.add_tensors() = Digest(name, absl::StrCat(name, " after ", step));
  }
  return trace;
}

inline v1::StepSample MakeSample(uint64_t step) {
  v1::StepSample sample;
  sample.set_step(step);
  sample.set_loss_sum(kBatch / static_cast<double>(step));
  sample.set_count(kBatch);
  sample.set_learning_rate(0.01);
  sample.set_samples_digest(step);
  sample.set_receipt(100 + step);
  sample.set_parameter_digest(absl::StrCat("digest-of-step-", step));
  return sample;
}

inline v1::Evaluation MakeEvaluation(uint64_t step) {
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_loss(0.5);
  evaluation.set_accuracy(0.75);
  evaluation.set_samples(kBatch);
  return evaluation;
}

// What a run leaves whose ranks disagree after so many steps.
inline void EndInDisagreement(Run* run, uint64_t steps) {
  run->samples.resize(steps);
  run->evaluations.clear();
  for (RankTrace& rank : run->ranks) rank.steps.resize(steps);
  run->cause = "'fc.weight' of rank 1 is not the same as that of rank 0";
  run->ranks_disagree = true;
}

// On one or two ranks.
inline Run GoodRun(uint32_t world_size) {
  Run run;
  run.world_size = world_size;
  for (uint64_t step = 1; step <= kSteps; ++step) run.samples.push_back(MakeSample(step));
  run.evaluations.push_back(MakeEvaluation(kSteps));
  const uint32_t share = kLogicalRanks / world_size;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    RankTrace trace;
    trace.header.set_rank(rank);
    trace.header.set_world_size(world_size);
    trace.header.set_threads(1);
    trace.header.set_training_samples(kSamples);
    for (const char* name : kTensors) *trace.header.add_tensors() = Digest(name, name);
    for (uint64_t step = 1; step <= kSteps; ++step) {
      trace.steps.push_back(MakeStep(step, rank * share, (rank + 1) * share));
    }
    run.ranks.push_back(std::move(trace));
  }
  return run;
}

// What follows when a cause has worked: from `step` on other losses, by this factor, and other
// parameters.
inline void Derail(Run* run, uint64_t step, double factor) {
  for (uint64_t s = step; s <= kSteps; ++s) {
    v1::StepSample& sample = run->samples[s - 1];
    sample.set_loss_sum(sample.loss_sum() * factor);
    sample.set_parameter_digest("another");
    for (RankTrace& rank : run->ranks) {
      for (v1::TensorDigest& tensor : *rank.steps[s - 1].mutable_tensors()) {
        tensor.set_sha256(absl::StrCat("another ", tensor.name(), s));
      }
    }
  }
}

// Gives every share of every step other samples, told in the history as well.
inline void Resample(
    Run* run, const std::function<std::vector<int64_t>(const v1::LeafTrace&, uint64_t)>& of) {
  for (RankTrace& rank : run->ranks) {
    for (v1::StepTrace& step : rank.steps) {
      for (v1::LeafTrace& leaf : *step.mutable_leaves()) {
        const std::vector<int64_t> ids = of(leaf, step.step());
        const bool same = std::vector<int64_t>(leaf.samples().begin(), leaf.samples().end()) == ids;
        if (!same) run->samples[step.step() - 1].set_samples_digest(1000 + step.step());
        leaf.mutable_samples()->Assign(ids.begin(), ids.end());
      }
    }
  }
}

}  // namespace tandem::verify
