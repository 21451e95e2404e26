#pragma once

#include <cstdint>

#include "ATen/core/Tensor.h"

namespace tandem::model {

// Whether value number `index` is dropped: a hash of key and index, as a fraction of 2^64, is below
// the probability.
bool IsDropped(uint64_t key, uint64_t index, double probability);

// What a value in the shape of `values`, on its device, is multiplied by: 0 where IsDropped says so,
// and 1 / (1 - probability) elsewhere. float32.
at::Tensor DropoutMask(const at::Tensor& values, uint64_t key, double probability);

// The same by tensor operations, which any device has; DropoutMask takes it where that is not the
// CPU. `places`: how many values there are.
at::Tensor DropoutMaskByTensors(int64_t places, uint64_t key, double probability,
                                const at::Device& device);

}  // namespace tandem::model
