#include "worker/trainer/self_test_values.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;

HardGradients Named(const std::string& name, uint32_t logical_ranks = 8) {
  for (HardGradients& one : MakeHardGradients(logical_ranks)) {
    if (one.name == name) return std::move(one);
  }
  ADD_FAILURE() << name;
  return {};
}

// Whatever adds in another order.
std::vector<PlainGradient> SumFromTheLeft(const HardGradients& gradients,
                                          bool absent_is_zero = false) {
  std::vector<PlainGradient> sums(SelfTestSizes().size());
  for (size_t i = 0; i < sums.size(); ++i) {
    for (const auto& leaf : gradients.leaves) {
      PlainGradient term = leaf[i];
      if (!term && absent_is_zero) term.emplace(SelfTestSizes()[i], 0.0f);
      if (!term) continue;
      if (!sums[i]) {
        sums[i] = term;
        continue;
      }
      for (size_t k = 0; k < term->size(); ++k) (*sums[i])[k] += (*term)[k];
    }
    if (!sums[i]) continue;
    for (float& value : *sums[i])
      value *= static_cast<float>(1.0 / static_cast<double>(gradients.count));
  }
  return sums;
}

TEST(SelfTestValuesTest, Gradients_AreTheSameInEveryProcessAndFinite) {
  for (const uint32_t logical_ranks : {2, 8}) {
    for (const HardGradients& one : MakeHardGradients(logical_ranks)) {
      ASSERT_EQ(one.leaves.size(), logical_ranks);
      EXPECT_EQ(CompareBits(SumByDefinition(one), SumByDefinition(Named(one.name, logical_ranks)))
                    .different,
                0u);
      for (const PlainGradient& sum : SumByDefinition(one)) {
        if (!sum) continue;
        for (const float value : *sum) ASSERT_TRUE(std::isfinite(value)) << one.name;
      }
    }
  }
}

TEST(SelfTestValuesTest, Subnormals_AreNothingElse) {
  size_t subnormal = 0, all = 0;
  for (const auto& leaf : Named("subnormals").leaves) {
    for (const PlainGradient& gradient : leaf) {
      for (const float value : *gradient) subnormal += std::fpclassify(value) == FP_SUBNORMAL;
      all += gradient->size();
    }
  }
  EXPECT_GT(subnormal, all - 10);
}

// Each kind of values finds the mistake that it is made for.
TEST(SelfTestValuesTest, AnotherOrder_Shows) {
  for (const char* name : {"random bits", "huge and tiny values"}) {
    const HardGradients gradients = Named(name);
    EXPECT_GT(CompareBits(SumFromTheLeft(gradients), SumByDefinition(gradients)).different, 100u)
        << name;
  }
}

TEST(SelfTestValuesTest, ZerosForAbsentGradients_Show) {
  for (const char* name : {"zeros of both signs", "absent gradients"}) {
    const HardGradients gradients = Named(name);
    EXPECT_GT(CompareBits(SumFromTheLeft(gradients, true), SumByDefinition(gradients)).different,
              30u)
        << name;
  }
}

TEST(SelfTestValuesTest, FlushingSubnormals_Shows) {
  const HardGradients gradients = Named("subnormals");
  HardGradients flushed = gradients;
  for (auto& leaf : flushed.leaves) {
    for (PlainGradient& gradient : leaf) {
      for (float& value : *gradient) value = std::copysign(0.0f, value);
    }
  }
  EXPECT_GT(CompareBits(SumByDefinition(flushed), SumByDefinition(gradients)).different, 10'000u);
}

TEST(SelfTestValuesTest, OneBit_IsFoundAndNamed) {
  const std::vector<PlainGradient> expected = SumByDefinition(Named("zeros of both signs"));
  std::vector<PlainGradient> found = expected;
  EXPECT_EQ(CompareBits(found, expected).different, 0u);
  EXPECT_EQ(CompareBits(found, expected).first, "");
  float& value = found[6]->at(17);
  value = -value;
  const BitComparison comparison = CompareBits(found, expected);
  EXPECT_EQ(comparison.different, 1u);
  EXPECT_THAT(comparison.first, HasSubstr("value 17 of parameter 6 is 0x"));
  EXPECT_EQ(comparison.values, 5u + 33 + 129 + 1 + 20'001 + 7 + 40'003 + 64);
}

TEST(SelfTestValuesTest, ParameterThatShouldBeAbsent_CountsWhole) {
  const std::vector<PlainGradient> expected = SumByDefinition(Named("absent gradients"));
  ASSERT_FALSE(expected[1].has_value());
  std::vector<PlainGradient> found = expected;
  found[1].emplace(33, 0.0f);
  EXPECT_EQ(CompareBits(found, expected).different, 33u);
  EXPECT_EQ(CompareBits(found, expected).first, "parameter 1 should be absent");
}

}  // namespace
}  // namespace tandem::trainer
