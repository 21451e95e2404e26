#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/ddp/named_tensor.h"
#include "worker/model/precision.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// What follows when the gradient of the whole batch is there: it is unscaled, clipped and applied at
// the learning rate of the step. Every rank does the same with the same bits. Not thread-safe.
class ParameterUpdate {
 public:
  // What was done.
  struct Report {
    double learning_rate = 0;
    double gradient_norm = 0;  // before clipping; 0 where nobody asked for it
  };

  // Both outlive it. `measure_norm`: also where it is not clipped.
  ParameterUpdate(Workload& workload, const Mistakes& mistakes, bool measure_norm);

  // What each loss is multiplied by before backward: 1 unless the precision is fp16.
  double loss_scale() const { return scales_loss_ ? scaler_.scale() : 1; }
  const model::LossScaler::State& scaler_state() const { return scaler_.state(); }
  void Restore(const model::LossScaler::State& state) { scaler_ = model::LossScaler(state); }

  // `step` counts from 0. Under fp16 a gradient that is not finite leaves everything as it was.
  //   OutOfRange  it was not finite at any scale of the loss.
  absl::StatusOr<Report> Apply(uint64_t step);

 private:
  void MultiplyGradients(double factor);

  Workload& workload_;
  const Mistakes& mistakes_;
  const std::vector<ddp::NamedTensor> parameters_;
  const bool measure_norm_;
  const bool scales_loss_;
  model::LossScaler scaler_;
};

}  // namespace tandem::trainer
