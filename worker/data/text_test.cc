#include "worker/data/text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Tokens Characters(absl::string_view text) {
  return Tokenize(text, v1::TEXT_UNIT_CHARACTERS, "t.txt").value();
}

TextSource Windows(absl::string_view text, int64_t window, int64_t stride) {
  return TextSource::Create(Characters(text), window, stride, "t.txt").value();
}

struct Sample {
  std::vector<int64_t> input, target;
};

Sample SampleOf(const TextSource& source, int64_t index) {
  const auto window = static_cast<size_t>(source.shape().inputs[0]);
  Sample sample{std::vector<int64_t>(window), std::vector<int64_t>(window)};
  source.Copy(index, absl::MakeSpan(sample.input), absl::MakeSpan(sample.target));
  return sample;
}

TEST(Tokenize, Characters_AreNumberedInOrderOfTheirCodePoints) {
  const Tokens tokens = Characters(
      "b\xE2\x82\xAC\na\xC2\xB5\xF0\x9F\x98\x80"
      "a");
  EXPECT_EQ(tokens.vocabulary, 6);
  EXPECT_THAT(tokens.tokens, ElementsAre(2, 4, 0, 1, 3, 5, 1));
}

TEST(Tokenize, Bytes_AreThemselves) {
  const auto tokens = Tokenize(
      "\xFF\x01"
      "a",
      v1::TEXT_UNIT_BYTES, "t.txt");
  EXPECT_EQ(tokens->vocabulary, 256);
  EXPECT_THAT(tokens->tokens, ElementsAre(255, 1, 97));
}

TEST(Tokenize, CharactersOfNoUtf8_NameTheLine) {
  for (const char* bad : {"\xFF", "\xE2\x82", "\xC0\xAF", "\xED\xA0\x80"}) {
    const auto tokens = Tokenize(absl::StrCat("a\nb\n", bad), v1::TEXT_UNIT_CHARACTERS, "t.txt");
    EXPECT_TRUE(absl::IsInvalidArgument(tokens.status()));
    EXPECT_THAT(std::string(tokens.status().message()), StartsWith("t.txt: line 3 "));
  }
}

TEST(TextSource, Window_PredictsTheNextTokens) {
  const TextSource source = Windows("abcdefgh", 3, 3);
  EXPECT_EQ(source.shape(), (SampleShape{{3}, 8, {3}, 8}));
  ASSERT_EQ(source.size(), 2);
  EXPECT_THAT(SampleOf(source, 0).input, ElementsAre(0, 1, 2));
  EXPECT_THAT(SampleOf(source, 0).target, ElementsAre(1, 2, 3));
  EXPECT_THAT(SampleOf(source, 1).input, ElementsAre(3, 4, 5));
  EXPECT_THAT(SampleOf(source, 1).target, ElementsAre(4, 5, 6));
}

TEST(TextSource, Stride_SetsTheDistanceOfWindows) {
  const TextSource source = Windows("abcdefgh", 3, 2);
  ASSERT_EQ(source.size(), 3);
  EXPECT_THAT(SampleOf(source, 2).input, ElementsAre(4, 5, 6));
  EXPECT_THAT(SampleOf(source, 2).target, ElementsAre(5, 6, 7));
}

TEST(TextSource, Size_IsThatOfWindowsThatFitWithTheirTargets) {
  for (int64_t window = 1; window <= 5; ++window) {
    for (int64_t stride = 1; stride <= 7; ++stride) {
      for (int64_t length = window + 1; length <= 20; ++length) {
        const TextSource source =
            Windows(std::string(static_cast<size_t>(length), 'x'), window, stride);
        const int64_t last = (source.size() - 1) * stride;
        EXPECT_LE(last + window + 1, length);
        EXPECT_GT(last + stride + window + 1, length);
      }
    }
  }
}

TEST(TextSource, TextWithoutAWindow_IsRefusedByKey) {
  for (const char* text : {"", "abc"}) {
    const auto source = TextSource::Create(Characters(text), 3, 3, "t.txt");
    EXPECT_TRUE(absl::IsInvalidArgument(source.status()));
    EXPECT_THAT(std::string(source.status().message()), StartsWith("t.txt: "));
    EXPECT_THAT(std::string(source.status().message()), HasSubstr("data.text.window"));
  }
}

}  // namespace
}  // namespace tandem::data
