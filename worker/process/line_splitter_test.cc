#include "worker/process/line_splitter.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LineSplitter, Add_SeveralLinesAtOnce_SplitsThem) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Add("one\n\ntwo\r\nthr"), ElementsAre("one", "", "two"));
  EXPECT_THAT(splitter.Add("ee\n"), ElementsAre("three"));
  EXPECT_THAT(splitter.Finish(), IsEmpty());
}

TEST(LineSplitter, Finish_LastLineWithoutNewline_ReturnsIt) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Add("last words"), IsEmpty());
  EXPECT_THAT(splitter.Finish(), ElementsAre("last words"));
}

TEST(LineSplitter, Add_CharacterArrivesInTwoParts_IsWhole) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Add("\xE2\x82"), IsEmpty());
  EXPECT_THAT(splitter.Add("\xAC\n"), ElementsAre("\xE2\x82\xAC"));
}

TEST(LineSplitter, Add_LineOfExactlyTheLimit_StaysOneLine) {
  LineSplitter splitter;
  const std::string line(LineSplitter::kMaxLineBytes, 'x');
  EXPECT_THAT(splitter.Add(line + "\n"), ElementsAre(line));
}

TEST(LineSplitter, Add_LongerThanTheLimit_IsCutIntoPieces) {
  LineSplitter splitter;
  const std::string piece(LineSplitter::kMaxLineBytes, 'x');
  EXPECT_THAT(splitter.Add(piece + piece + "rest"), ElementsAre(piece, piece));
  EXPECT_THAT(splitter.Finish(), ElementsAre("rest"));
}

TEST(LineSplitter, Add_LimitInsideACharacter_CutsBeforeIt) {
  LineSplitter splitter;
  const std::string head(LineSplitter::kMaxLineBytes - 1, 'x');
  EXPECT_THAT(splitter.Add(head + "\xE2\x82\xAC\n"), ElementsAre(head, "\xE2\x82\xAC"));
}

TEST(LineSplitter, Add_BytesThatAreNotUtf8_AreReplaced) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.Add("a\xFFz\n"), ElementsAre("a\xEF\xBF\xBDz"));
}

}  // namespace
}  // namespace tandem
