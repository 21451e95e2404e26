#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the self-test adds, and what must come out. Plain C++, without LibTorch: a second opinion.
namespace tandem::trainer {

// Of one parameter; unset: absent, which is not the same as zeros.
using PlainGradient = std::optional<std::vector<float>>;

// Gradients in which a sum that is made in any other way than in the fixed tree shows.
struct HardGradients {
  std::string name;
  // By logical rank, by parameter.
  std::vector<std::vector<PlainGradient>> leaves;
  // What the sums are divided by, as the number of samples.
  uint64_t count = 1;
};

// How many values each parameter has. Together several buckets of the size below.
std::vector<size_t> SelfTestSizes();
inline constexpr size_t kSelfTestBucketBytes = size_t{64} << 10;

// Random bits, subnormals, zeros of both signs, huge values beside tiny ones, absent gradients. The same
// in every process. `logical_ranks`: a power of two.
std::vector<HardGradients> MakeHardGradients(uint32_t logical_ranks);

// By the definition, by recursion: a node is its left half + its right half, rounded once; one whose other half is absent
// is that half. The root is multiplied once, by float(1 / count).
std::vector<PlainGradient> SumByDefinition(const HardGradients& gradients);

struct BitComparison {
  uint64_t values = 0;
  // With another bit; all of a parameter that is there and should not be, or the other way round.
  uint64_t different = 0;
  // "value 17 of parameter 3 is 0x00000001, not 0x80000001"; empty: none.
  std::string first;
};
BitComparison CompareBits(const std::vector<PlainGradient>& found,
                          const std::vector<PlainGradient>& expected);

}  // namespace tandem::trainer
