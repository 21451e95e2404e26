#pragma once

#include <cstdint>

namespace tandem::model {

// Seeds the default generator, from which everything random in LibTorch draws unless told
// otherwise: initial weights, dropout.
void SeedDefaultGenerator(uint64_t seed);

// What the default generator yields next.
uint64_t NextDraw();
// The same, leaving it as it is.
uint64_t FirstDraw();

}  // namespace tandem::model
