#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "torch/optim/optimizer.h"
#include "worker/data/dataset.h"
#include "worker/data/holdout.h"
#include "worker/data/sampler.h"
#include "worker/model/model.h"

namespace tandem::trainer {

// What is trained, on what, in which order: everything a specification stands for, before any rank
// has met another. The same on every rank.
struct Workload {
  v1::JobSpec spec;
  std::unique_ptr<data::Dataset> dataset;
  data::Split split;
  data::Sampler sampler;  // over split.training
  std::unique_ptr<model::Model> model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

// Reads the data and builds the model.
//   InvalidArgument  the job cannot be trained as written: a key, or a place in a file, is named.
absl::StatusOr<Workload> LoadWorkload(const v1::JobSpec& spec);

// Of everything that all ranks must agree on: the specification, the data, the build.
uint64_t HashOf(const Workload& workload);

}  // namespace tandem::trainer
