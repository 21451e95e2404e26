#include "common/host/limits.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

TEST(LimitsTest, Folder_HasSizeAndFreeSpace) {
  const v1::FolderSpace space = SpaceOf("/dev/shm");
  EXPECT_EQ(space.problem(), "");
  EXPECT_GT(space.total_bytes(), 0u);
  EXPECT_LE(space.free_bytes(), space.total_bytes());
}

TEST(LimitsTest, FolderThatIsNotThere_IsAProblem) {
  EXPECT_EQ(SpaceOf("/no/such/folder").problem(), "/no/such/folder: No such file or directory");
}

TEST(LimitsTest, Descriptors_AreThoseOfThisProcess) {
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit fewer = before;
  fewer.rlim_cur = 99;
  setrlimit(RLIMIT_NOFILE, &fewer);
  const v1::ProcessLimits limits = LimitsOfThisProcess();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(limits.open_files(), 99u);
  EXPECT_EQ(limits.most_open_files(), before.rlim_max);
}

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = place_.File(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  uint64_t LimitAt(const std::string& path) { return MemoryLimit(place_.path(), path); }

  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
};

TEST_F(MemoryLimitTest, Nothing_IsNoLimit) {
  EXPECT_EQ(LimitAt("/"), 0u);
  EXPECT_EQ(LimitAt(""), 0u);
  Write("a/memory.max", "max");
  EXPECT_EQ(LimitAt("/a"), 0u);
}

TEST_F(MemoryLimitTest, TightestOnTheWayUp_Counts) {
  Write("a/memory.max", "1000");
  Write("a/b/memory.max", "max");
  Write("a/b/c/memory.max", "5000");
  EXPECT_EQ(LimitAt("/a/b/c"), 1000u);
  EXPECT_EQ(LimitAt("/a/other"), 1000u);
  EXPECT_EQ(LimitAt("/x"), 0u);
}

TEST_F(MemoryLimitTest, RootOfAContainer_Counts) {
  Write("memory.max", "4096");
  EXPECT_EQ(LimitAt("/"), 4096u);
}

TEST_F(MemoryLimitTest, FirstVersion_IsReadToo) {
  Write("memory/memory.limit_in_bytes", "2048");
  EXPECT_EQ(LimitAt("/"), 2048u);
  Write("memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(LimitAt("/"), 0u);
}

}  // namespace
}  // namespace tandem::host
