#pragma once

#include <vector>

#include "worker/ddp/named_tensor.h"

namespace tandem::model {

// Multiplies the gradients of `parameters` by min(1, max_norm / (norm + 1e-6)) and returns norm:
// that of all of them as one vector, added up in double in the order of `parameters`. For gradients
// after the reduction. A norm that is not finite leaves gradients that are not.
double ClipByNorm(const std::vector<ddp::NamedTensor>& parameters, double max_norm);

}  // namespace tandem::model
