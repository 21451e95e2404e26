#include "worker/trainer/self_test_values.h"

#include <bit>
#include <functional>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"

namespace tandem::trainer {
namespace {

constexpr uint32_t kSign = 0x80000000u, kMantissa = 0x007fffffu;

// The bits of one value, out of random ones; in `which` leaf.
using MakeBits = uint32_t (*)(uint32_t random, uint32_t leaf);

uint32_t WithExponent(uint32_t random, uint32_t exponent) {
  return (random & (kSign | kMantissa)) | exponent << 23;
}

// Any but those from which a sum over 2^4 leaves could overflow.
uint32_t RandomBits(uint32_t random, uint32_t) {
  constexpr uint32_t kMostExponent = 250;
  return WithExponent(random, (random >> 23 & 0xffu) % (kMostExponent + 1));
}

uint32_t Subnormal(uint32_t random, uint32_t) { return random & (kSign | kMantissa); }

uint32_t Zero(uint32_t random, uint32_t) { return random & kSign; }

// Three sizes that swallow each other, so that what is left depends on who met whom first.
uint32_t HugeOrTiny(uint32_t random, uint32_t leaf) {
  constexpr uint32_t kExponents[] = {250, 127, 226, 127, 250, 20, 226, 249};
  return WithExponent(random, kExponents[leaf % std::size(kExponents)]);
}

uint32_t Ordinary(uint32_t random, uint32_t) {
  return WithExponent(random, 120 + (random >> 23 & 7u));
}

PlainGradient MakeGradient(size_t size, uint32_t leaf, MakeBits make, std::mt19937* random) {
  std::vector<float> values(size);
  for (float& value : values) {
    value = std::bit_cast<float>(make(static_cast<uint32_t>((*random)()), leaf));
  }
  return values;
}

HardGradients Make(std::string name, uint32_t logical_ranks, uint64_t count, MakeBits make) {
  std::mt19937 random(logical_ranks);
  HardGradients gradients{.name = std::move(name), .leaves = {}, .count = count};
  for (uint32_t leaf = 0; leaf < logical_ranks; ++leaf) {
    auto& parameters = gradients.leaves.emplace_back();
    for (const size_t size : SelfTestSizes())
      parameters.push_back(MakeGradient(size, leaf, make, &random));
  }
  return gradients;
}

// A parameter that no leaf has, one that a single leaf has, gaps, and a leaf without anything.
HardGradients WithAbsent(HardGradients gradients) {
  const size_t leaves = gradients.leaves.size();
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    auto& parameters = gradients.leaves[leaf];
    parameters[1].reset();
    if (leaf != leaves - 1) parameters[2].reset();
    for (size_t i = 3; i < parameters.size(); ++i) {
      if ((leaf + i) % 3 == 0) parameters[i].reset();
    }
  }
  for (PlainGradient& gradient : gradients.leaves[leaves / 2 - 1]) gradient.reset();
  return gradients;
}

PlainGradient Add(PlainGradient left, PlainGradient right) {
  if (!left) return right;
  if (!right) return left;
  for (size_t i = 0; i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  return left;
}

PlainGradient SumOf(const HardGradients& gradients, size_t parameter, size_t begin, size_t size) {
  if (size == 1) return gradients.leaves[begin][parameter];
  return Add(SumOf(gradients, parameter, begin, size / 2),
             SumOf(gradients, parameter, begin + size / 2, size / 2));
}

void Compare(size_t parameter, const std::vector<float>& found, const std::vector<float>& expected,
             BitComparison* comparison) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto is = std::bit_cast<uint32_t>(found[i]),
               should_be = std::bit_cast<uint32_t>(expected[i]);
    if (is == should_be) continue;
    if (comparison->different++ > 0) continue;
    comparison->first = absl::StrFormat("value %d of parameter %d is %#010x, not %#010x", i,
                                        parameter, is, should_be);
  }
}

}  // namespace

std::vector<size_t> SelfTestSizes() { return {5, 33, 129, 1, 20'001, 7, 40'003, 64}; }

std::vector<HardGradients> MakeHardGradients(uint32_t logical_ranks) {
  return {Make("random bits", logical_ranks, 3, RandomBits),
          Make("subnormals", logical_ranks, 1, Subnormal),
          WithAbsent(Make("zeros of both signs", logical_ranks, 1, Zero)),
          Make("huge and tiny values", logical_ranks, 1, HugeOrTiny),
          WithAbsent(Make("absent gradients", logical_ranks, 7, Ordinary))};
}

std::vector<PlainGradient> SumByDefinition(const HardGradients& gradients) {
  const auto scale = static_cast<float>(1.0 / static_cast<double>(gradients.count));
  std::vector<PlainGradient> sums;
  for (size_t i = 0; i < gradients.leaves.front().size(); ++i) {
    PlainGradient& sum = sums.emplace_back(SumOf(gradients, i, 0, gradients.leaves.size()));
    if (!sum) continue;
    for (float& value : *sum) value *= scale;
  }
  return sums;
}

BitComparison CompareBits(const std::vector<PlainGradient>& found,
                          const std::vector<PlainGradient>& expected) {
  BitComparison comparison;
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t values = SelfTestSizes()[i];
    comparison.values += values;
    if (found[i] && expected[i]) {
      Compare(i, *found[i], *expected[i], &comparison);
    } else if (found[i].has_value() != expected[i].has_value()) {
      if (comparison.different == 0) {
        comparison.first =
            absl::StrFormat("parameter %d %s absent", i, found[i] ? "should be" : "is");
      }
      comparison.different += values;
    }
  }
  return comparison;
}

}  // namespace tandem::trainer
