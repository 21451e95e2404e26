#include "worker/command/descendants.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Descendants, ChildrenAndTheirChildren_AreFoundAndNobodyElse) {
  const ProcessTree tree = {{1, 0}, {10, 1}, {20, 10}, {21, 10}, {30, 21}, {40, 1}, {2, 0}};
  EXPECT_THAT(DescendantsOf(10, 0, tree).processes, ElementsAre(20, 21, 30));
  EXPECT_TRUE(DescendantsOf(10, 0, tree).is_certain);
}

TEST(Descendants, SparedProcess_IsLeftOutWithItsChildren) {
  const ProcessTree tree = {{1, 0}, {10, 1}, {20, 10}, {21, 10}, {30, 21}};
  EXPECT_THAT(DescendantsOf(10, 21, tree).processes, ElementsAre(20));
}

TEST(Descendants, ParentThatEndedMeanwhile_LeavesDoubt) {
  const ProcessTree tree = {{1, 0}, {10, 1}, {30, 21}};
  EXPECT_THAT(DescendantsOf(10, 0, tree).processes, IsEmpty());
  EXPECT_FALSE(DescendantsOf(10, 0, tree).is_certain);
}

TEST(Descendants, ParentOutsideOfTheNamespace_LeavesNone) {
  const ProcessTree tree = {{7, 0}, {8, 7}, {10, 0}};
  EXPECT_TRUE(DescendantsOf(10, 0, tree).is_certain);
}

}  // namespace
}  // namespace tandem::command
