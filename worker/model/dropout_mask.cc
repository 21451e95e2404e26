#include "worker/model/dropout_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ATen/Functions.h"
#include "common/keyed_hash.h"

namespace tandem::model {
namespace {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;  // as in SplitMix64

// Places whose hashes are in memory at a time, by 8 bytes each.
constexpr int64_t kChunk = int64_t{1} << 22;

// Probabilities are below 1, so this is below 2^64.
uint64_t ThresholdOf(double probability) {
  return static_cast<uint64_t>(std::ldexp(probability, 64));
}

uint64_t HashOf(uint64_t key, uint64_t index) { return Scramble(key + kGoldenGamma * (index + 1)); }

float FactorOfKept(double probability) { return static_cast<float>(1 / (1 - probability)); }

// Tensors have no uint64_t that all devices can multiply: the same bits as int64_t, whose sums and
// products wrap around alike.
int64_t Signed(uint64_t bits) { return static_cast<int64_t>(bits); }

// x ^ (x >> bits), with zeros coming in.
void XorShift(at::Tensor& x, int bits) {
  const int64_t kept = Signed(std::numeric_limits<uint64_t>::max() >> bits);
  x.bitwise_xor_(at::bitwise_right_shift(x, bits).bitwise_and_(kept));
}

// Scramble, of each.
void ScrambleAll(at::Tensor& x) {
  XorShift(x, 30);
  x.mul_(Signed(0xbf58476d1ce4e5b9u));
  XorShift(x, 27);
  x.mul_(Signed(0x94d049bb133111ebu));
  XorShift(x, 31);
}

// Whether each is below `threshold`, as an unsigned number.
at::Tensor IsBelow(at::Tensor& x, uint64_t threshold) {
  constexpr int64_t kFlip = std::numeric_limits<int64_t>::min();
  return at::lt(x.bitwise_xor_(kFlip), Signed(threshold) ^ kFlip);
}

}  // namespace

bool IsDropped(uint64_t key, uint64_t index, double probability) {
  return HashOf(key, index) < ThresholdOf(probability);
}

at::Tensor DropoutMaskByTensors(int64_t places, uint64_t key, double probability,
                                const at::Device& device) {
  at::Tensor mask = at::empty({places}, at::TensorOptions(at::kFloat).device(device));
  for (int64_t begin = 0; begin < places; begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, places);
    at::Tensor hash = at::arange(begin + 1, end + 1, at::TensorOptions(at::kLong).device(device));
    hash.mul_(Signed(kGoldenGamma)).add_(Signed(key));
    ScrambleAll(hash);
    mask.slice(0, begin, end).copy_(IsBelow(hash, ThresholdOf(probability)).logical_not_());
  }
  return mask.mul_(FactorOfKept(probability));
}

at::Tensor DropoutMask(const at::Tensor& values, uint64_t key, double probability) {
  if (!values.device().is_cpu()) {
    return DropoutMaskByTensors(values.numel(), key, probability, values.device())
        .view(values.sizes());
  }
  at::Tensor mask = at::empty(values.sizes(), at::kFloat);
  const uint64_t threshold = ThresholdOf(probability);
  const float kept = FactorOfKept(probability);
  float* factor = mask.data_ptr<float>();
  for (int64_t i = 0; i < mask.numel(); ++i) {
    factor[i] = HashOf(key, static_cast<uint64_t>(i)) < threshold ? 0 : kept;
  }
  return mask;
}

}  // namespace tandem::model
