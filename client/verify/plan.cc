#include "client/verify/plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/spec/spec.h"

namespace tandem::verify {
namespace {

// What is held out is not trained on, so that it stays as it is. Of an epoch there is at least one
// step: so many never end before the job does.
void MeasureAtTheEnd(uint64_t steps, v1::Evaluate* evaluate) {
  evaluate->clear_every_steps();
  evaluate->set_every_epochs(steps);
}

// A program that failed once is not what it would be without. Its length is for itself to say.
absl::StatusOr<v1::JobSpec> ControlledCommand(v1::JobSpec spec,
                                              const std::vector<uint32_t>& sizes) {
  const uint32_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (!spec.has_logical_ranks()) spec.set_logical_ranks(std::bit_ceil(largest));
  spec.set_workers(largest);
  spec.clear_min_workers();
  spec.clear_checkpoint();
  spec.mutable_restart()->set_max(0);
  const absl::Status valid = spec::Validate(spec);
  if (!valid.ok()) return valid;
  return spec;
}

}  // namespace

std::vector<uint32_t> WorldSizes(const v1::JobSpec& spec, const std::vector<uint32_t>& asked) {
  std::vector<uint32_t> sizes;
  const auto add = [&](uint32_t size) {
    if (std::count(sizes.begin(), sizes.end(), size) == 0) sizes.push_back(size);
  };
  for (uint32_t size : asked) add(size);
  if (!sizes.empty()) return sizes;
  for (uint32_t size : {1u, 2u, spec.workers()}) {
    if (size > 0 && (!spec.has_logical_ranks() || size <= spec.logical_ranks())) add(size);
  }
  return sizes;
}

absl::StatusOr<v1::JobSpec> ControlledSpec(v1::JobSpec spec, const std::vector<uint32_t>& sizes,
                                           uint64_t steps) {
  if (spec.has_command()) return ControlledCommand(std::move(spec), sizes);
  const uint32_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (!spec.has_logical_ranks()) spec.set_logical_ranks(std::bit_ceil(largest));
  spec.set_workers(largest);
  spec.clear_min_workers();
  spec.clear_epochs();
  spec.set_steps(steps);
  spec.set_verify_every(1);
  if (spec.has_evaluate()) MeasureAtTheEnd(steps, spec.mutable_evaluate());
  spec.clear_checkpoint();
  spec.clear_resume_from();
  const absl::Status valid = spec::Validate(spec);
  if (!valid.ok()) return valid;
  return spec;
}

v1::JobSpec RunSpec(v1::JobSpec controlled, uint32_t workers, const std::string& trace_dir) {
  controlled.set_workers(workers);
  // A program does not write any.
  if (!controlled.has_command()) controlled.mutable_trace()->set_dir(trace_dir);
  return controlled;
}

}  // namespace tandem::verify
