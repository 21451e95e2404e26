#pragma once

#include <cstdint>
#include <vector>

#include "worker/ddp/named_tensor.h"
#include "worker/model/loss_scaler.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// What follows when the gradient of the whole batch is there: it is unscaled, clipped and applied at
// the learning rate of the step. Every rank does the same with the same bits. Not thread-safe.
class ParameterUpdate {
 public:
  // What was done.
  struct Report {
    double learning_rate = 0;
    double gradient_norm = 0;  // before clipping
    bool skipped = false;      // the gradient was not finite (fp16 only)
  };

  // `workload` outlives it. `gradient_factor`: see Mistakes.
  ParameterUpdate(Workload& workload, double gradient_factor);

  // The factor that each loss is multiplied by before backward; 1 but for fp16.
  double loss_scale() const { return scaler_.scale(); }
  const model::LossScaler& scaler() const { return scaler_; }
  void Restore(const model::LossScaler& scaler) { scaler_ = scaler; }

  // `step` counts from 0.
  Report Apply(uint64_t step);

 private:
  void MultiplyGradients(double factor);

  Workload& workload_;
  const double gradient_factor_;
  const std::vector<ddp::NamedTensor> parameters_;
  model::LossScaler scaler_;
};

}  // namespace tandem::trainer
