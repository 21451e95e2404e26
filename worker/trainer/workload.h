#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/resumable.h"
#include "tandem/v1/spec.pb.h"
#include "torch/optim/optimizer.h"
#include "worker/data/dataset.h"
#include "worker/data/holdout.h"
#include "worker/data/sampler.h"
#include "worker/data/transforms.h"
#include "worker/ddp/named_tensor.h"
#include "worker/model/model.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/rank_device.h"

namespace tandem::trainer {

// What is trained, on what, in which order: everything a specification stands for, before any rank
// has met another. The same on every rank.
struct Workload {
  // Samples, and what is done to each of them.
  struct Data {
    std::unique_ptr<data::Dataset> dataset;
    data::Transforms transforms;
  };

  // Those that split.held_out names.
  const Data& measured() const { return held_out ? *held_out : training; }

  v1::JobSpec spec;
  Data training;
  std::optional<Data> held_out;  // none: the held-out samples are among those of `training`
  data::Split split;
  data::Sampler sampler;  // over split.training
  std::unique_ptr<model::Model> model;
  std::string model_file;  // what tells its file apart; empty: it is built in
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::string device;  // RankDevice::Fingerprint of where model and optimizer are
};

// Reads the data and builds the model, which begins with the same bits on any device. `spec` has all defaults filled in; the mistakes that it asks
// for are made.
//   InvalidArgument  the job cannot be trained as written: a key, or a place in a file, is named.
absl::StatusOr<Workload> LoadWorkload(const v1::JobSpec& spec, const Mistakes& mistakes,
                                      const RankDevice& device);

// Under the names by which a checkpoint has them.
std::vector<ddp::NamedTensor> OptimizerStateOf(const Workload& workload);
// Parameters, buffers and state of the optimizer.
std::vector<ddp::NamedTensor> TensorsOf(const Workload& workload);
// Of parameters and buffers; 64 hexadecimal digits.
std::string DigestOf(const model::Model& model);

// All that the bits of the training depend on.
checkpoint::TrainingIdentity IdentityOf(const Workload& workload);
// Of that, to be compared across ranks.
uint64_t HashOf(const Workload& workload);

}  // namespace tandem::trainer
