#include "worker/command/descendants.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Descendants, ChildrenAndTheirChildren_AreFoundAndNobodyElse) {
  const ProcessTree tree = {{1, 0}, {10, 1}, {20, 10}, {21, 10}, {30, 21}, {40, 1}, {2, 0}};
  EXPECT_THAT(DescendantsOf(10, 0, tree), ElementsAre(20, 21, 30));
}

TEST(Descendants, SparedProcess_IsLeftOutWithItsChildren) {
  const ProcessTree tree = {{1, 0}, {10, 1}, {20, 10}, {21, 10}, {30, 21}};
  EXPECT_THAT(DescendantsOf(10, 21, tree), ElementsAre(20));
}

// Of other users' processes, under `hidepid`, and of those that ended while the tree was read. Nobody can wait
// for the first to appear.
TEST(Descendants, ProcessWhoseParentIsNotSeen_IsNone) {
  const ProcessTree tree = {{10, 9}, {30, 21}};
  EXPECT_THAT(DescendantsOf(10, 0, tree), IsEmpty());
}

TEST(Descendants, ParentsInACircle_AreNone) {
  const ProcessTree tree = {{10, 1}, {20, 21}, {21, 20}, {30, 10}};
  EXPECT_THAT(DescendantsOf(10, 0, tree), ElementsAre(30));
}

TEST(Descendants, FolderThatCannotBeRead_IsAnErrorAndNotNobody) {
  const auto killed = KillDescendants(/*spared=*/0, "/no/such/folder");
  EXPECT_EQ(killed.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(DescribeLeftBehind(killed), HasSubstr("cannot read /no/such/folder: No such file"));
}

TEST(Descendants, OneThatDoesNotEnd_IsNamed) {
  EXPECT_THAT(DescribeLeftBehind(std::vector<pid_t>{7, 8}),
              HasSubstr("killed 30s ago: pid 7, 8; they stay"));
}

}  // namespace
}  // namespace tandem::command
