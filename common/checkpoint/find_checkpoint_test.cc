#include "common/checkpoint/find_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint/testing_checkpoint.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FindCheckpointTest : public testing::Test {
 protected:
  // Of the job's folder below the one of all.
  std::string Write(const std::string& job, uint64_t step) {
    CheckpointFolder folder(place_.File(job));
    EXPECT_TRUE(WriteSample(&folder, step).ok());
    return folder.FileOf(step);
  }

  std::string Found(const std::string& path) {
    const auto found = FindCheckpoint(path);
    return found.ok() ? found->checkpoint.path : std::string(found.status().message());
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("checkpoint");
};

TEST_F(FindCheckpointTest, AFile_IsTaken) {
  Write("digits-1", 2);
  const std::string file = Write("digits-1", 1);
  EXPECT_EQ(Found(file), file);
}

TEST_F(FindCheckpointTest, AFileOfAnotherName_IsTaken) {
  const std::string copy = place_.File("best.safetensors");
  std::filesystem::copy_file(Write("digits-1", 1), copy);
  EXPECT_EQ(Found(copy), copy);
}

TEST_F(FindCheckpointTest, FolderOfAJob_GivesItsNewest) {
  Write("digits-1", 1);
  const std::string newest = Write("digits-1", 20);
  EXPECT_EQ(Found(place_.File("digits-1")), newest);
}

TEST_F(FindCheckpointTest, FolderAboveOneJob_GivesItsNewest) {
  const std::string file = Write("digits-1", 1);
  std::filesystem::create_directory(place_.File("empty"));
  WriteText(place_.File("notes.txt"), "");
  EXPECT_EQ(Found(place_.path()), file);
}

TEST_F(FindCheckpointTest, FolderAboveSeveralJobs_AsksWhichOne) {
  for (const char* job : {"a-1", "b-2", "c-3", "d-4"}) Write(job, 1);
  const auto found = FindCheckpoint(place_.path());
  EXPECT_TRUE(absl::IsInvalidArgument(found.status()));
  EXPECT_THAT(Found(place_.path()), HasSubstr("4 jobs"));
  EXPECT_THAT(Found(place_.path()), HasSubstr(place_.File("c-3")));
  EXPECT_THAT(Found(place_.path()), Not(HasSubstr("d-4")));
}

TEST_F(FindCheckpointTest, EmptyFolder_HoldsNone) {
  EXPECT_TRUE(absl::IsNotFound(FindCheckpoint(place_.path()).status()));
}

TEST_F(FindCheckpointTest, NothingOfThatName_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(FindCheckpoint(place_.File("none")).status()));
}

TEST_F(FindCheckpointTest, ADevice_IsRefusedWithoutReadingIt) {
  EXPECT_TRUE(absl::IsInvalidArgument(FindCheckpoint("/dev/zero").status()));
}

}  // namespace
}  // namespace tandem::checkpoint
