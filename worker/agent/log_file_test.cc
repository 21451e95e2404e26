#include "worker/agent/log_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LogFileTest : public ::testing::Test {
 protected:
  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = temporary_.path();
};

TEST_F(LogFileTest, Create_FoldersMissing_MakesThem) {
  const std::string path = folder_ + "/job/attempt-1/rank-0.out";
  auto file = LogFile::Create(path, 100);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append({"one", "two"}).ok());
  EXPECT_EQ(Contents(path), "one\ntwo\n");
}

TEST_F(LogFileTest, Append_UpToTheCap_HasNoNotice) {
  const std::string path = folder_ + "/out";
  auto file = LogFile::Create(path, 8);
  ASSERT_TRUE(file->Append({"one", "two"}).ok());
  EXPECT_EQ(Contents(path), "one\ntwo\n");
}

TEST_F(LogFileTest, Append_BeyondTheCap_EndsWithOneNotice) {
  const std::string path = folder_ + "/out";
  auto file = LogFile::Create(path, 8);
  ASSERT_TRUE(file->Append({"one", "two", "three"}).ok());
  const std::string when_cut = Contents(path);
  EXPECT_THAT(when_cut, StartsWith("one\ntwo\n["));
  EXPECT_THAT(when_cut, HasSubstr("8 bytes"));
  ASSERT_TRUE(file->Append({"x"}).ok());
  EXPECT_EQ(Contents(path), when_cut);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(Contents(path), when_cut + "three\nx\n");
}

TEST_F(LogFileTest, Finish_MoreThanTheEndThatIsKept_SaysHowManyLinesAreMissing) {
  const std::string path = folder_ + "/out";
  auto file = LogFile::Create(path, 8);
  const std::string half(LogFile::kTailBytes / 2, 'y');
  ASSERT_TRUE(file->Append({"one", "two", half, half, "last"}).ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_THAT(Contents(path), HasSubstr("]\n[tandem-worker: 1 lines are left out here]\ny"));
  EXPECT_TRUE(absl::EndsWith(Contents(path), "y\nlast\n"));
}

TEST_F(LogFileTest, Append_DiskIsFull_SaysSoWithThePath) {
  auto file = LogFile::Create("/dev/full", 100);
  ASSERT_TRUE(file.ok());
  const absl::Status status = file->Append({"one"});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full"));
}

TEST_F(LogFileTest, Create_FolderIsAFile_NamesThePath) {
  std::ofstream(folder_ + "/file") << "x";
  const auto file = LogFile::Create(folder_ + "/file/out", 100);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("/file/out"));
}

}  // namespace
}  // namespace tandem::agent
