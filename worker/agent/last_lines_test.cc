#include "worker/agent/last_lines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(LastLines, MoreThanForty_KeepsTheNewest) {
  LastLines last;
  for (int i = 0; i < 50; ++i) last.Add(std::to_string(i));
  ASSERT_THAT(last.lines(), SizeIs(40));
  EXPECT_EQ(last.lines().front(), "10");
  EXPECT_EQ(last.lines().back(), "49");
}

TEST(LastLines, LongLine_IsCutBetweenCharacters) {
  LastLines last;
  last.Add(std::string(1023, 'x') + "\xC2\xB5 and more");
  EXPECT_THAT(last.lines(), ElementsAre(std::string(1023, 'x')));
}

TEST(LastLines, LongLines_KeepsTheNewestEightKibibytes) {
  LastLines last;
  for (char c = 'a'; c < 'a' + 20; ++c) last.Add(std::string(16 << 10, c));
  ASSERT_THAT(last.lines(), SizeIs(8));
  EXPECT_EQ(last.lines().front(), std::string(1 << 10, 'm'));
  EXPECT_EQ(last.lines().back(), std::string(1 << 10, 't'));
}

}  // namespace
}  // namespace tandem::agent
