#include "common/checkpoint/attempt_fence.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "common/checkpoint/checkpoint_folder.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AttemptFenceTest : public ::testing::Test {
 protected:
  absl::Status Save(uint32_t attempt, uint64_t step) {
    const AttemptFence fence(folder_, attempt);
    FencedFileCalls calls(fence, FileCalls::System());
    return CheckpointFolder(folder_, calls).Write(step, [](int fd) {
      return write(fd, "x", 1) == 1 ? absl::OkStatus() : absl::InternalError("write");
    });
  }
  std::vector<uint64_t> Steps() { return *CheckpointFolder(folder_).Steps(); }

  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = root_.path() + "/checkpoints/job";
};

TEST_F(AttemptFenceTest, NewerAttemptHasBegun_OlderOneCannotSaveAndSaysWhy) {
  ASSERT_TRUE(AttemptFence(folder_, 1).Raise().ok());
  ASSERT_TRUE(Save(1, 10).ok());
  ASSERT_TRUE(AttemptFence(folder_, 2).Raise().ok());
  EXPECT_FALSE(Save(1, 20).ok());
  const absl::Status check = AttemptFence(folder_, 1).Check();
  EXPECT_TRUE(absl::IsAlreadyExists(check));
  EXPECT_THAT(std::string(check.message()), HasSubstr("attempt 2 of this job has begun"));
  EXPECT_TRUE(absl::IsAlreadyExists(AttemptFence(folder_, 1).Raise()));
  EXPECT_TRUE(Save(2, 30).ok());
  EXPECT_THAT(Steps(), ElementsAre(10, 30));
}

TEST_F(AttemptFenceTest, Control_WithoutTheFence_TheOlderOneSaves) {
  ASSERT_TRUE(AttemptFence(folder_, 2).Raise().ok());
  ASSERT_TRUE(CheckpointFolder(folder_).Write(20, [](int) { return absl::OkStatus(); }).ok());
  EXPECT_THAT(Steps(), ElementsAre(20));
}

TEST_F(AttemptFenceTest, OlderAttemptTidiesUp_NothingOfTheNewerOneGoes) {
  ASSERT_TRUE(AttemptFence(folder_, 1).Raise().ok());
  for (uint64_t step : {10, 20, 30}) ASSERT_TRUE(Save(1, step).ok());
  ASSERT_TRUE(AttemptFence(folder_, 2).Raise().ok());
  const AttemptFence old(folder_, 1);
  FencedFileCalls calls(old, FileCalls::System());
  EXPECT_FALSE(CheckpointFolder(folder_, calls).Prune(1, 30).ok());
  EXPECT_THAT(Steps(), ElementsAre(10, 20, 30));
}

TEST_F(AttemptFenceTest, RaisedAgain_ChangesNothing) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(AttemptFence(folder_, 7).Raise().ok());
  EXPECT_TRUE(AttemptFence(folder_, 7).Check().ok());
  EXPECT_TRUE(AttemptFence(folder_, 8).Check().ok());
}

// Each attempt writes as fast as it can; once the next has begun, nothing of it comes any more.
TEST_F(AttemptFenceTest, WritersOfTwoAttemptsAtOnce_NothingOfTheOlderOneComesAfterTheRaise) {
  for (uint32_t attempt = 1; attempt <= 20; ++attempt) {
    ASSERT_TRUE(AttemptFence(folder_, attempt).Raise().ok());
    std::atomic<uint64_t> step{uint64_t{attempt} * 1000};
    std::thread old([&] {
      while (Save(attempt, step + 1).ok()) ++step;
    });
    while (step < uint64_t{attempt} * 1000 + 3) std::this_thread::yield();
    ASSERT_TRUE(AttemptFence(folder_, attempt + 1).Raise().ok());
    const std::vector<uint64_t> seen = Steps();
    old.join();
    EXPECT_EQ(Steps(), seen);
  }
}

TEST_F(AttemptFenceTest, HolderOfTheLockIsKilled_OthersGoOn) {
  ASSERT_TRUE(AttemptFence(folder_, 1).Raise().ok());
  struct StopInRename : FileCalls {
    int Rename(const std::string&, const std::string&) override { return raise(SIGSTOP); }
  };
  const pid_t child = fork();
  if (child == 0) {
    StopInRename stop;
    const AttemptFence fence(folder_, 1);
    FencedFileCalls calls(fence, stop);
    (void)CheckpointFolder(folder_, calls).Write(5, [](int) { return absl::OkStatus(); });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_TRUE(AttemptFence(folder_, 2).Raise().ok());
  EXPECT_TRUE(Save(2, 6).ok());
}

TEST_F(AttemptFenceTest, FolderCannotBeWritten_SaysWhere) {
  std::ofstream(root_.path() + "/file") << "x";
  const absl::Status status = AttemptFence(root_.path() + "/file/job", 1).Raise();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(root_.path() + "/file"));
}

}  // namespace
}  // namespace tandem::checkpoint
