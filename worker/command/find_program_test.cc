#include "worker/command/find_program.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

class FindProgramTest : public ::testing::Test {
 protected:
  // A file at FOLDER/train.
  void Make(const std::string& folder, mode_t mode) {
    std::filesystem::create_directories(root_.File(folder));
    const std::string file = root_.File(folder) + "/train";
    std::ofstream(file) << "#!/bin/sh\n";
    chmod(file.c_str(), mode);
  }

  TemporaryFolder root_ = *TemporaryFolder::Create("find-program");
};

TEST_F(FindProgramTest, Name_IsTheFirstExecutableInPath) {
  Make("notes", 0644);
  Make("first", 0755);
  Make("second", 0755);
  const std::string path = root_.File("none") + ":" + root_.File("notes") + ":" +
                           root_.File("first") + ":" + root_.File("second");
  EXPECT_EQ(*FindProgram("train", path), root_.File("first") + "/train");
}

TEST_F(FindProgramTest, NameWithASlash_IsNotLookedFor) {
  EXPECT_EQ(*FindProgram("./train", "/bin"), "./train");
}

TEST_F(FindProgramTest, NameThatIsNowhere_IsNotFound) {
  EXPECT_EQ(FindProgram("train", "/bin:" + root_.path()).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tandem::command
