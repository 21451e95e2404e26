#include "common/read_file.h"

#include <sys/stat.h>

#include <fstream>

#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::StartsWith;

TEST(ReadFile, Contents_AreGivenByteForByte) {
  const TemporaryFolder folder = *TemporaryFolder::Create("read_file");
  const std::string bytes("a\0\r\n\xFF", 5);
  std::ofstream(folder.File("f")) << bytes;
  EXPECT_EQ(ReadFile(folder.File("f")).value(), bytes);
  std::ofstream(folder.File("empty")).flush();
  EXPECT_EQ(ReadFile(folder.File("empty")).value(), "");
}

TEST(ReadFile, MissingFileFolderOrPipe_IsRefusedByPath) {
  const TemporaryFolder folder = *TemporaryFolder::Create("read_file");
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.File("absent"), folder.path(), folder.File("pipe")}) {
    const auto bytes = ReadFile(path);
    EXPECT_TRUE(absl::IsInvalidArgument(bytes.status()));
    EXPECT_THAT(std::string(bytes.status().message()), StartsWith(path + ": "));
  }
}

}  // namespace
}  // namespace tandem
