#include "common/tail.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Tail, MoreThanFits_KeepsTheNewestAndCountsTheRest) {
  Tail<std::string> tail(6);
  EXPECT_EQ(tail.Add("one", 3), 0U);
  EXPECT_EQ(tail.Add("two", 3), 0U);
  EXPECT_EQ(tail.Add("four", 4), 2U);
  EXPECT_EQ(tail.bytes(), 4U);
  const auto contents = tail.Take();
  EXPECT_EQ(contents.given_up, 2U);
  EXPECT_THAT(contents.lines, ElementsAre("four"));
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(tail.Add("six", 6), 0U);
}

TEST(Tail, LineThatIsTooLong_IsGivenUpItself) {
  Tail<std::string> tail(2);
  EXPECT_EQ(tail.Add("three", 5), 1U);
  EXPECT_FALSE(tail.empty());
  EXPECT_THAT(tail.Take().lines, IsEmpty());
}

}  // namespace
}  // namespace tandem
