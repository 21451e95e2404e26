#include "worker/model/model.h"

#include "worker/model/precision.h"

namespace tandem::model {

void Model::SetTraining(bool training) {
  network_->SetTraining(training);
  training_ = training;
}

Outcome Model::Forward(const data::Batch& batch) {
  at::Tensor outputs;
  {
    const PrecisionGuard guard(precision_);
    outputs = network_->Forward(batch.inputs);
  }
  return Judge(outputs, batch.targets);
}

Outcome Model::Judge(const at::Tensor& outputs, const at::Tensor& targets) const {
  Outcome outcome = ComputeLoss(loss_, outputs, targets);
  if (!training_ && loss_ == v1::LOSS_CROSS_ENTROPY) {
    outcome.correct = CountCorrect(outputs, targets);
  }
  return outcome;
}

}  // namespace tandem::model
