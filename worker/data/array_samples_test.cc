#include "worker/data/array_samples.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An array together with its bytes.
struct Array {
  template <typename T>
  Array(std::string place, std::string dtype, std::vector<int64_t> shape, std::vector<T> numbers)
      : bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)),
        view{std::move(place), std::move(dtype), std::move(shape), bytes} {}

  Array(const Array&) = delete;

  const std::string bytes;
  const ArrayView view;
};

const Array kInputs("x.npy", "F32", {2, 2}, std::vector<float>{1, 2, 3, 4.5});
const Array kTargets("y.npy", "I64", {2}, std::vector<int64_t>{2, -100});
const ArrayKeys kThreeClasses{"data.npy", 3, 0};

std::string ErrorOf(const Array& inputs, const Array& targets, const ArrayKeys& keys) {
  const absl::Status status = MakeSamples(inputs.view, targets.view, keys).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(MakeSamples, NumbersAndClasses_AreFloatsAndIndices) {
  const auto samples = MakeSamples(kInputs.view, kTargets.view, kThreeClasses);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->shape, (SampleShape{.inputs = {2}, .targets = {}, .classes = 3}));
  EXPECT_EQ(samples->count, 2);
  EXPECT_THAT(std::get<std::vector<float>>(samples->inputs), ElementsAre(1, 2, 3, 4.5));
  EXPECT_THAT(std::get<std::vector<int64_t>>(samples->targets), ElementsAre(2, kIgnoredTarget));
}

TEST(MakeSamples, TokensAndNumbers_AreIndicesAndFloats) {
  const Array tokens("x.npy", "U16", {1, 3}, std::vector<uint16_t>{0, 6, 3});
  const Array targets("y.npy", "F64", {1, 1}, std::vector<double>{0.5});
  const auto samples = MakeSamples(tokens.view, targets.view, {"data.npy", 0, 7});
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->shape, (SampleShape{.inputs = {3}, .vocabulary = 7, .targets = {1}}));
  EXPECT_THAT(std::get<std::vector<int64_t>>(samples->inputs), ElementsAre(0, 6, 3));
  EXPECT_THAT(std::get<std::vector<float>>(samples->targets), ElementsAre(0.5));
}

template <typename T>
std::vector<float> FloatsOf(const std::string& dtype, std::vector<T> numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  const Array inputs("x", dtype, {1, count}, std::move(numbers));
  const Array targets("y", "I64", {1}, std::vector<int64_t>{0});
  const auto samples = MakeSamples(inputs.view, targets.view, kThreeClasses);
  EXPECT_TRUE(samples.ok()) << samples.status();
  return std::get<std::vector<float>>(samples->inputs);
}

TEST(MakeSamples, EveryDtype_IsReadAsItsNumbers) {
  EXPECT_THAT(FloatsOf<double>("F64", {0.1, -2}), ElementsAre(0.1F, -2));
  EXPECT_THAT(FloatsOf<int8_t>("I8", {-128, 127}), ElementsAre(-128, 127));
  EXPECT_THAT(FloatsOf<int16_t>("I16", {-32768}), ElementsAre(-32768));
  EXPECT_THAT(FloatsOf<int32_t>("I32", {-7}), ElementsAre(-7));
  EXPECT_THAT(FloatsOf<int64_t>("I64", {-7}), ElementsAre(-7));
  EXPECT_THAT(FloatsOf<uint8_t>("U8", {255}), ElementsAre(255));
  EXPECT_THAT(FloatsOf<uint16_t>("U16", {65535}), ElementsAre(65535));
  EXPECT_THAT(FloatsOf<uint32_t>("U32", {1U << 31}), ElementsAre(2147483648.0F));
  EXPECT_THAT(FloatsOf<uint64_t>("U64", {uint64_t{1} << 63}), ElementsAre(0x1p63F));
  EXPECT_THAT(FloatsOf<uint8_t>("BOOL", {0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(FloatsOf<uint16_t>("BF16", {0x3F80, 0xC000}), ElementsAre(1, -2));
  // One, minus two, the largest, the smallest normal, the smallest, minus zero.
  EXPECT_THAT(FloatsOf<uint16_t>("F16", {0x3C00, 0xC000, 0x7BFF, 0x0400, 0x0001, 0x8000}),
              ElementsAre(1, -2, 65504, 0x1p-14F, 0x1p-24F, 0));
}

TEST(MakeSamples, NumberThatIsNotFinite_NamesSampleAndNumber) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1e39}) {
    const Array inputs("x.npy", "F64", {2, 2}, std::vector<double>{1, 2, 3, bad});
    EXPECT_THAT(ErrorOf(inputs, kTargets, kThreeClasses),
                StartsWith("x.npy: sample 1, number 1: "));
    const Array targets("y.npy", "F64", {2}, std::vector<double>{0, bad});
    EXPECT_THAT(ErrorOf(kInputs, targets, {"data.npy", 0, 0}),
                StartsWith("y.npy: sample 1, number 0: "));
  }
  for (const uint16_t bad : {0x7C00, 0x7E00}) {
    const Array half("x.npy", "F16", {2}, std::vector<uint16_t>{0, bad});
    EXPECT_THAT(ErrorOf(half, kTargets, kThreeClasses), StartsWith("x.npy: sample 1, number 0: "));
  }
}

TEST(MakeSamples, ClassOutOfRange_NamesSampleAndKey) {
  for (const double bad :
       {3.0, -1.0, -99.0, 0.5, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const Array targets("y.npy", "F64", {2}, std::vector<double>{0, bad});
    const std::string error = ErrorOf(kInputs, targets, kThreeClasses);
    EXPECT_THAT(error, StartsWith("y.npy: sample 1, number 0: ")) << bad;
    EXPECT_THAT(error, HasSubstr("data.npy.classes is 3"));
  }
}

TEST(MakeSamples, TokenOutOfRange_NamesSampleAndKey) {
  // A target may be left out, a token may not.
  for (const int64_t bad : {int64_t{7}, int64_t{-1}, kIgnoredTarget, INT64_MAX, INT64_MIN}) {
    const Array tokens("x.npy", "I64", {2, 2}, std::vector<int64_t>{0, 6, bad, 0});
    const std::string error = ErrorOf(tokens, kTargets, {"data.npy", 3, 7});
    EXPECT_THAT(error, StartsWith("x.npy: sample 1, number 0: ")) << bad;
    EXPECT_THAT(error, HasSubstr("data.npy.vocabulary is 7"));
  }
}

TEST(MakeSamples, UnequalLengths_NameBothArrays) {
  const Array targets("y.npy", "I64", {3}, std::vector<int64_t>{0, 0, 0});
  const std::string error = ErrorOf(kInputs, targets, kThreeClasses);
  EXPECT_THAT(error, StartsWith("y.npy: "));
  EXPECT_THAT(error, HasSubstr("x.npy"));
}

TEST(MakeSamples, ArrayOfNoSamples_IsRefused) {
  const Array single("x.npy", "F32", {}, std::vector<float>{1});
  const Array none("x.npy", "F32", {0, 2}, std::vector<float>{});
  const Array hollow("x.npy", "F32", {2, 0}, std::vector<float>{});
  const Array uncountable("x.npy", "U8", {INT64_MAX, 2, 0}, std::vector<uint8_t>{});
  const Array odd("x.npy", "F8_E5M2", {2}, std::vector<uint8_t>{0, 0});
  for (const Array* inputs : {&single, &none, &hollow, &uncountable, &odd}) {
    EXPECT_THAT(ErrorOf(*inputs, kTargets, kThreeClasses), StartsWith("x.npy: "));
  }
}

}  // namespace
}  // namespace tandem::data
