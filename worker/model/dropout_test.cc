#include "worker/model/dropout.h"

#include <cstdint>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "gtest/gtest.h"
#include "worker/model/dropout_mask.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

at::Tensor MaskOf(int64_t size, uint64_t seed, double probability) {
  SeedDefaultGenerator(seed);
  return Dropout(at::ones({size}), probability, true);
}

// CASES 36: the mask is a matter of key and place; it is known in advance, and has no size beyond which
// another kernel would have a say.
TEST(Dropout, Case36_MaskIsAFunctionOfKeyAndPlaceAtEverySize) {
  std::string pattern;
  for (uint64_t i = 0; i < 32; ++i) pattern += IsDropped(7, i, 0.5) ? '.' : 'x';
  EXPECT_EQ(pattern, "..xx.......xxxxxx.xxx...xx..x.x.");
  const at::Tensor large = MaskOf(1000003, 5, 0.3);
  for (const int64_t size : {1, 1000, 270336, 270337}) {
    EXPECT_TRUE(at::equal(MaskOf(size, 5, 0.3), large.slice(0, 0, size))) << size;
  }
}

// Other devices than the CPU compute it by tensor operations: over the borders of their portions, at
// probabilities of all sizes, and with keys that use every bit.
TEST(DropoutMask, ByTensors_IsThatOfTheLoop) {
  constexpr int64_t kPlaces = (int64_t{1} << 22) + 1001;
  const at::Tensor values = at::empty({kPlaces});
  const std::pair<uint64_t, double> kCases[] = {
      {0, 0.1}, {0x8000000000000001, 0.5}, {~uint64_t{0}, 1e-9}, {7, 0.999}};
  for (const auto& [key, probability] : kCases) {
    EXPECT_TRUE(at::equal(DropoutMaskByTensors(kPlaces, key, probability, at::kCPU),
                          DropoutMask(values, key, probability)))
        << key << " " << probability;
  }
}

// The control: LibTorch's own masks are of its kernels' making, and are others.
TEST(Dropout, MaskOfTheLibrary_IsAnother) {
  const at::Tensor ours = MaskOf(1000, 5, 0.5);
  SeedDefaultGenerator(5);
  EXPECT_FALSE(at::equal(at::dropout(at::ones({1000}), 0.5, true), ours));
}

TEST(Dropout, EveryCall_DrawsAnotherMask) {
  SeedDefaultGenerator(5);
  const at::Tensor first = Dropout(at::ones({64}), 0.5, true);
  EXPECT_FALSE(at::equal(first, Dropout(at::ones({64}), 0.5, true)));
}

TEST(Dropout, Share_IsTheProbabilityAndTheMeanStays) {
  const at::Tensor values = MaskOf(1000000, 3, 0.2);
  EXPECT_NEAR(at::eq(values, 0).sum().item<double>() / 1e6, 0.2, 0.002);
  EXPECT_NEAR(values.mean().item<double>(), 1, 0.003);
}

TEST(Dropout, Gradient_HasTheSameMask) {
  const at::Tensor ones = at::ones({64}).requires_grad_();
  SeedDefaultGenerator(5);
  const at::Tensor values = Dropout(ones, 0.5, true);
  values.sum().backward();
  EXPECT_TRUE(at::equal(ones.grad(), values));
}

TEST(Dropout, NotTrainingOrZero_ChangesNothing) {
  EXPECT_TRUE(at::equal(Dropout(at::ones({8}), 0.5, false), at::ones({8})));
  EXPECT_TRUE(at::equal(Dropout(at::ones({8}), 0, true), at::ones({8})));
}

TEST(Dropout, HalfPrecision_StaysIt) {
  SeedDefaultGenerator(5);
  EXPECT_EQ(Dropout(at::ones({8}, at::kBFloat16), 0.5, true).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace tandem::model
