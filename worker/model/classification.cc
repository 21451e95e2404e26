#include "worker/model/classification.h"

#include "ATen/Functions.h"

namespace tandem::model {

Outcome Classify(const at::Tensor& logits, const at::Tensor& targets, bool training) {
  Outcome outcome;
  outcome.loss_sum = at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::Sum);
  outcome.count = static_cast<uint64_t>(targets.size(0));
  if (!training) outcome.correct = at::eq(at::argmax(logits, 1), targets).sum();
  return outcome;
}

}  // namespace tandem::model
