#include "worker/model/optimizer.h"

#include "torch/optim/adamw.h"
#include "torch/optim/sgd.h"

namespace tandem::model {

std::unique_ptr<torch::optim::Optimizer> CreateOptimizer(const v1::Optimizer& spec,
                                                         const Model& model) {
  if (spec.has_sgd()) {
    return std::make_unique<torch::optim::SGD>(model.parameters(),
                                               torch::optim::SGDOptions(spec.sgd().lr())
                                                   .momentum(spec.sgd().momentum())
                                                   .weight_decay(spec.sgd().weight_decay()));
  }
  const v1::AdamW& adamw = spec.adamw();
  return std::make_unique<torch::optim::AdamW>(model.parameters(),
                                               torch::optim::AdamWOptions(adamw.lr())
                                                   .betas({adamw.beta1(), adamw.beta2()})
                                                   .eps(adamw.eps())
                                                   .weight_decay(adamw.weight_decay()));
}

double LearningRate(const v1::Optimizer& spec) {
  return spec.has_sgd() ? spec.sgd().lr() : spec.adamw().lr();
}

}  // namespace tandem::model
