#include "worker/model/model.h"

#include "worker/model/precision.h"

namespace tandem::model {

void Model::SetTraining(bool training) {
  network_->SetTraining(training);
  training_ = training;
}

void Model::MoveTo(at::Device device) {
  network_->MoveTo(device);
  device_ = device;
}

data::Batch Model::OnDevice(const data::Batch& batch) const {
  return {batch.inputs.to(device_), batch.targets.to(device_)};
}

Outcome Model::Forward(const data::Batch& batch) {
  const data::Batch here = OnDevice(batch);
  at::Tensor outputs;
  {
    const PrecisionGuard guard(precision_, device_.type());
    outputs = network_->Forward(here.inputs);
  }
  return Judge(outputs, here.targets);
}

Outcome Model::Judge(const at::Tensor& outputs, const at::Tensor& targets) const {
  Outcome outcome = ComputeLoss(loss_, outputs, targets);
  if (!training_ && loss_ == v1::LOSS_CROSS_ENTROPY) {
    outcome.correct = CountCorrect(outputs, targets);
  }
  return outcome;
}

}  // namespace tandem::model
