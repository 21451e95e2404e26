#include "common/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace tandem {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8SequenceLength, Front_IsOneCharacterOrNone) {
  EXPECT_EQ(Utf8SequenceLength("\xE2\x82\xAC and more"), 3U);
  EXPECT_EQ(Utf8SequenceLength({"\0", 1}), 1U);
  EXPECT_EQ(Utf8SequenceLength("\xE2\x82"), 0U);
  EXPECT_EQ(Utf8SequenceLength("\xC0\xAF"), 0U);
  EXPECT_EQ(Utf8SequenceLength(""), 0U);
}

TEST(IsUtf8, StrayByteAnywhere_IsNot) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("loss \xC2\xB5"));
  EXPECT_FALSE(IsUtf8("loss \xC2"));
  EXPECT_FALSE(IsUtf8("\xFFloss"));
}

TEST(ReplaceInvalidUtf8, WellFormedText_IsUnchanged) {
  const std::string text = "loss 0.25 \xC2\xB5 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF";
  EXPECT_EQ(ReplaceInvalidUtf8(text), text);
}

TEST(ReplaceInvalidUtf8, StrayBytes_AreReplacedOneByOne) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFF\x80z"), "a" + kBad + kBad + "z");
}

TEST(ReplaceInvalidUtf8, SequenceCutAtTheEnd_IsReplaced) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xE2\x82"), "a" + kBad + kBad);
}

TEST(ReplaceInvalidUtf8, OverlongSurrogateAndTooLarge_AreReplaced) {
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF"), kBad + kBad);
  EXPECT_EQ(ReplaceInvalidUtf8("\xE0\x80\xAF"), kBad + kBad + kBad);
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);
}

TEST(Utf8PrefixLength, LimitInsideASequence_StopsBeforeIt) {
  EXPECT_EQ(Utf8PrefixLength("ab\xE2\x82\xAC", 4), 2U);
  EXPECT_EQ(Utf8PrefixLength("ab\xE2\x82\xAC"
                             "c",
                             5),
            5U);
}

TEST(Utf8PrefixLength, OnlyContinuationBytes_CutsAtTheLimit) {
  EXPECT_EQ(Utf8PrefixLength(std::string(10, '\x80'), 7), 7U);
}

}  // namespace
}  // namespace tandem
