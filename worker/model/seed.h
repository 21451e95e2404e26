#pragma once

#include <cstdint>

namespace tandem::model {

// Seeds the default generator, from which everything random in LibTorch draws unless told
// otherwise: initial weights, dropout.
void SeedDefaultGenerator(uint64_t seed);

}  // namespace tandem::model
