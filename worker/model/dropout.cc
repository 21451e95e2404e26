#include "worker/model/dropout.h"

#include <cmath>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "common/keyed_hash.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

// Probabilities are below 1, so this is below 2^64.
uint64_t ThresholdOf(double probability) {
  return static_cast<uint64_t>(std::ldexp(probability, 64));
}

uint64_t HashOf(uint64_t key, uint64_t index) {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;  // as in SplitMix64
  return Scramble(key + kGoldenGamma * (index + 1));
}

}  // namespace

bool IsDropped(uint64_t key, uint64_t index, double probability) {
  return HashOf(key, index) < ThresholdOf(probability);
}

at::Tensor Dropout(const at::Tensor& values, double probability, bool training) {
  if (!training || probability == 0) return values;
  const uint64_t key = NextDraw();
  const uint64_t threshold = ThresholdOf(probability);
  const auto kept = static_cast<float>(1 / (1 - probability));
  at::Tensor mask = at::empty(values.sizes(), at::kFloat);
  float* factor = mask.data_ptr<float>();
  for (int64_t i = 0; i < mask.numel(); ++i) {
    factor[i] = HashOf(key, static_cast<uint64_t>(i)) < threshold ? 0 : kept;
  }
  return values * mask.to(values.options());
}

}  // namespace tandem::model
