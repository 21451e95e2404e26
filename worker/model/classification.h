#pragma once

#include "worker/model/model.h"

namespace tandem::model {

// Cross entropy of samples x classes scores against one class a sample.
Outcome Classify(const at::Tensor& logits, const at::Tensor& targets, bool training);

}  // namespace tandem::model
