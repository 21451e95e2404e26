#include "server/store/state_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/temporary_folder.h"

namespace tandem::store {
namespace {

using ::testing::HasSubstr;

TEST(StateLockTest, Acquire_NewDirectory_MakesItForItsOwnerAlone) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  const std::string path = root.path() + "/a/b";
  ASSERT_TRUE(StateLock::Acquire(path).ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
}

TEST(StateLockTest, Acquire_HeldByAnother_NamesTheHoldersPid) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  const auto first = StateLock::Acquire(root.path());
  ASSERT_TRUE(first.ok());
  const auto second = StateLock::Acquire(root.path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(getpid())));
}

TEST(StateLockTest, Acquire_AfterTheHolderIsGone_Succeeds) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  { ASSERT_TRUE(StateLock::Acquire(root.path()).ok()); }
  EXPECT_TRUE(StateLock::Acquire(root.path()).ok());
}

TEST(StateLockTest, Acquire_PathIsAFile_IsRefused) {
  EXPECT_EQ(StateLock::Acquire("/dev/null").status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tandem::store
