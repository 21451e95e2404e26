#include "common/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/checkpoint/testing_checkpoint.h"
#include "common/file_descriptor.h"
#include "common/read_file.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CheckpointFolderTest : public testing::Test {
 protected:
  void Write(uint64_t step) { ASSERT_TRUE(WriteSample(&folder_, step).ok()); }

  std::vector<uint64_t> Steps() { return folder_.Steps().value_or(std::vector<uint64_t>{999}); }

  // The step of the newest whole one; 0: there is none.
  uint64_t Newest(std::vector<std::string>* skipped = nullptr) {
    const auto newest = folder_.OpenNewest();
    if (!newest.ok()) return 0;
    if (skipped != nullptr) *skipped = newest->skipped;
    return newest->checkpoint.manifest.step();
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("checkpoint");
  // Two levels that are not there yet.
  CheckpointFolder folder_{place_.File("checkpoints/digits-1")};
};

TEST_F(CheckpointFolderTest, FileOf_IsTheStepInTwelveDigits) {
  EXPECT_THAT(folder_.FileOf(120), testing::EndsWith("digits-1/step-000000000120.safetensors"));
}

TEST_F(CheckpointFolderTest, Write_MakesTheFoldersAndIsFoundAgain) {
  Write(120);
  Write(9);
  EXPECT_THAT(Steps(), ElementsAre(9, 120));
  EXPECT_EQ(Newest(), 120u);
}

TEST_F(CheckpointFolderTest, MissingFolder_HoldsNoStepsAndNoCheckpoint) {
  EXPECT_THAT(Steps(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(folder_.OpenNewest().status()));
}

TEST_F(CheckpointFolderTest, Steps_OtherNames_AreNotOurs) {
  Write(1);
  for (const char* name :
       {"step-12.safetensors", "step-00000000000x.safetensors", "model.safetensors",
        "step-000000000002.safetensors.old", ".step-000000000003.safetensors.1.partial",
        "step--00000000001.safetensors", "step-+00000000001.safetensors"}) {
    WriteText(folder_.path() + "/" + name, "");
  }
  EXPECT_THAT(Steps(), ElementsAre(1));
}

// CASES 34: as if the machine had lost power with a name on the disk and not its bytes.
TEST_F(CheckpointFolderTest, OpenNewest_NewestCutAtAnyLength_TakesTheOneBeforeAndSaysWhy) {
  Write(1);
  Write(2);
  const std::string whole = *ReadFile(folder_.FileOf(2));
  for (size_t length = 0; length < whole.size(); ++length) {
    WriteText(folder_.FileOf(2), whole.substr(0, length));
    std::vector<std::string> skipped;
    EXPECT_EQ(Newest(&skipped), 1u) << length;
    EXPECT_THAT(skipped, ElementsAre(StartsWith(folder_.FileOf(2) + ": "))) << length;
  }
  WriteText(folder_.FileOf(2), whole);
  EXPECT_EQ(Newest(), 2u);
}

TEST_F(CheckpointFolderTest, OpenNewest_NewestIsAllZeros_TakesTheOneBefore) {
  Write(1);
  Write(2);
  WriteText(folder_.FileOf(2), std::string(ReadFile(folder_.FileOf(2))->size(), '\0'));
  EXPECT_EQ(Newest(), 1u);
}

TEST_F(CheckpointFolderTest, OpenNewest_RenamedFile_IsNotTakenForAnotherStep) {
  Write(1);
  std::filesystem::copy_file(folder_.FileOf(1), folder_.FileOf(5));
  std::vector<std::string> skipped;
  EXPECT_EQ(Newest(&skipped), 1u);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("is of step 1")));
}

TEST_F(CheckpointFolderTest, OpenNewest_FolderOfThatName_IsSkipped) {
  Write(1);
  std::filesystem::create_directory(folder_.FileOf(2));
  EXPECT_EQ(Newest(), 1u);
}

TEST_F(CheckpointFolderTest, OpenNewest_NothingIsWhole_SaysWhy) {
  std::filesystem::create_directories(folder_.path());
  WriteText(folder_.FileOf(2), "torn");
  const auto newest = folder_.OpenNewest();
  EXPECT_TRUE(absl::IsNotFound(newest.status()));
  EXPECT_THAT(std::string(newest.status().message()), HasSubstr(folder_.FileOf(2)));
}

TEST_F(CheckpointFolderTest, Write_DiskIsFull_LeavesEarlierCheckpoints) {
  Write(1);
  const auto full = folder_.Write(2, [](int) {
    const FileDescriptor device(open("/dev/full", O_WRONLY));
    return WriteSample(device.get(), 2);
  });
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), StartsWith(folder_.FileOf(2)));
  EXPECT_EQ(Newest(), 1u);
}

TEST_F(CheckpointFolderTest, Prune_KeepsTheNewest) {
  for (uint64_t step = 1; step <= 5; ++step) Write(step);
  EXPECT_TRUE(folder_.Prune(2, 5).ok());
  EXPECT_THAT(Steps(), ElementsAre(4, 5));
}

TEST_F(CheckpointFolderTest, Prune_FewerThanItKeeps_RemovesNone) {
  Write(1);
  EXPECT_TRUE(folder_.Prune(3, 1).ok());
  EXPECT_THAT(Steps(), ElementsAre(1));
}

TEST_F(CheckpointFolderTest, Prune_JobThatStartedAnew_KeepsWhatItHasJustWritten) {
  for (uint64_t step : {10, 300, 400, 500}) Write(step);
  EXPECT_TRUE(folder_.Prune(2, 10).ok());
  EXPECT_THAT(Steps(), ElementsAre(10, 400, 500));
}

TEST_F(CheckpointFolderTest, Prune_RemovesWhatADeadWriterHasLeft) {
  Write(1);
  const std::string left = folder_.path() + "/.step-000000000002.safetensors.1.partial";
  WriteText(left, "half");
  EXPECT_TRUE(folder_.Prune(3, 1).ok());
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace tandem::checkpoint
