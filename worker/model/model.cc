#include "worker/model/model.h"

namespace tandem::model {

void Model::SetTraining(bool training) {
  network_->SetTraining(training);
  training_ = training;
}

Outcome Model::Forward(const data::Batch& batch) {
  const at::Tensor outputs = network_->Forward(batch.inputs);
  Outcome outcome = ComputeLoss(loss_, outputs, batch.targets);
  if (!training_ && loss_ == v1::LOSS_CROSS_ENTROPY) {
    outcome.correct = CountCorrect(outputs, batch.targets);
  }
  return outcome;
}

}  // namespace tandem::model
