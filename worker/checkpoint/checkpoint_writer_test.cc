#include "worker/checkpoint/checkpoint_writer.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "common/checkpoint/find_checkpoint.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

using ::testing::ElementsAre;

class FullDisk : public FileCalls {
 public:
  int Sync(int) override {
    errno = ENOSPC;
    return -1;
  }
};

class CheckpointWriterTest : public testing::Test {
 protected:
  CheckpointWriter::Options Options() {
    CheckpointWriter::Options options;
    options.folder = folder_;
    options.every_steps = 10;
    options.total_steps = 25;
    options.keep = 2;
    return options;
  }

  static TrainingState StateAt(uint64_t step) {
    TrainingState state;
    state.step = step;
    state.parameters = {{"weight", at::full({2}, static_cast<int64_t>(step))}};
    return state;
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("writer");
  const std::string folder_ = place_.File("digits-1");
  const AttemptFence fence_{folder_, 1};
};

TEST_F(CheckpointWriterTest, IsDue_EverySoManyStepsAndAtTheEnd) {
  const CheckpointWriter writer(Options(), fence_);
  std::vector<uint64_t> due;
  for (uint64_t step = 1; step <= 25; ++step) {
    if (writer.IsDue(step)) due.push_back(step);
  }
  EXPECT_THAT(due, ElementsAre(10, 20, 25));
}

TEST_F(CheckpointWriterTest, IsDue_WithoutEverySteps_AtTheEndOnly) {
  CheckpointWriter::Options options = Options();
  options.every_steps = 0;
  const CheckpointWriter writer(options, fence_);
  EXPECT_FALSE(writer.IsDue(24));
  EXPECT_TRUE(writer.IsDue(25));
}

TEST_F(CheckpointWriterTest, Write_KeepsTheNewestAndSaysWhereTheyAre) {
  CheckpointWriter writer(Options(), fence_);
  for (uint64_t step : {10, 20, 25}) {
    const auto written = writer.Write(StateAt(step));
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->step(), step);
    EXPECT_EQ(FindCheckpoint(folder_)->checkpoint.path, written->path());
  }
  EXPECT_THAT(*CheckpointFolder(folder_).Steps(), ElementsAre(20, 25));
}

TEST_F(CheckpointWriterTest, Write_DiskIsFull_SaysSoAndKeepsWhatThereWas) {
  ASSERT_TRUE(CheckpointWriter(Options(), fence_).Write(StateAt(10)).ok());
  FullDisk disk;
  const auto full = CheckpointWriter(Options(), fence_, disk).Write(StateAt(20));
  EXPECT_TRUE(absl::IsResourceExhausted(full.status())) << full.status();
  EXPECT_EQ(FindCheckpoint(folder_)->checkpoint.manifest.step(), 10u);
}

TEST_F(CheckpointWriterTest, Write_NewerAttemptHasBegun_SaysSoAndLeavesItsCheckpointsAlone) {
  ASSERT_TRUE(CheckpointWriter(Options(), fence_).Write(StateAt(10)).ok());
  const AttemptFence newer(folder_, 2);
  ASSERT_TRUE(newer.Raise().ok());
  ASSERT_TRUE(CheckpointWriter(Options(), newer).Write(StateAt(20)).ok());
  const auto late = CheckpointWriter(Options(), fence_).Write(StateAt(25));
  EXPECT_TRUE(absl::IsAlreadyExists(late.status())) << late.status();
  EXPECT_THAT(*CheckpointFolder(folder_).Steps(), ElementsAre(10, 20));
}

TEST(FolderOfJob, IsTheJobsOwn) {
  v1::Checkpoint spec;
  spec.set_dir("/checkpoints");
  EXPECT_EQ(FolderOfJob(spec, "digits-1"), "/checkpoints/digits-1");
}

}  // namespace
}  // namespace tandem::checkpoint
