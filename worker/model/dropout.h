#pragma once

#include <cstdint>

#include "ATen/core/Tensor.h"

namespace tandem::model {

// Zeroes each value with this probability and divides the others by 1 - probability; nothing where
// not `training`. The mask is ours: it follows from one draw of the default CPU generator and from the
// place of each value, by integer arithmetic alone, so that no kernel, thread count or kind of device
// has a part in it.
at::Tensor Dropout(const at::Tensor& values, double probability, bool training);

}  // namespace tandem::model
