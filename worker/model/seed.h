#pragma once

#include <cstdint>

#include "c10/core/Device.h"

namespace tandem::model {

// Seeds the default generators of the CPU and of `device`, from which everything random in LibTorch
// draws unless told otherwise: initial weights, a user's own dropout.
void SeedDefaultGenerator(uint64_t seed, c10::Device device = c10::kCPU);

// What the CPU's default generator yields next.
uint64_t NextDraw();
// The same, leaving it as it is.
uint64_t FirstDraw();

}  // namespace tandem::model
