// CASES 34: writers that are killed, and two at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/attempt_fence.h"
#include "common/checkpoint/testing_checkpoint.h"
#include "common/read_file.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

[[noreturn]] void Die() {
  kill(getpid(), SIGKILL);
  std::abort();
}

// Dies before or after its n-th call: a sync of the file, its renaming, a sync of the folder, a removal.
class DeadlyCalls : public FileCalls {
 public:
  DeadlyCalls(int die_at, bool afterwards) : left_(die_at), afterwards_(afterwards) {}

  int Sync(int fd) override {
    return Around([&] { return FileCalls::Sync(fd); });
  }
  int Rename(const std::string& from, const std::string& to) override {
    return Around([&] { return FileCalls::Rename(from, to); });
  }
  int Remove(const std::string& path) override {
    return Around([&] { return FileCalls::Remove(path); });
  }

 private:
  int Around(absl::FunctionRef<int()> call) {
    const bool last = --left_ == 0;
    if (last && !afterwards_) Die();
    const int result = call();
    if (last) Die();
    return result;
  }

  int left_;
  const bool afterwards_;
};

pid_t Fork(absl::FunctionRef<bool()> work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  return child;
}

int StatusOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

bool WasKilled(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

class CheckpointKillTest : public testing::Test {
 protected:
  CheckpointKillTest() {
    EXPECT_TRUE(WriteSample(&folder_, 2).ok());
    whole_ = *ReadFile(folder_.FileOf(2));
    std::filesystem::remove(folder_.FileOf(2));
    EXPECT_TRUE(WriteSample(&folder_, 1).ok());
  }

  // The step of the newest one, which has to be whole without any other being skipped.
  uint64_t Newest() {
    const auto newest = folder_.OpenNewest();
    EXPECT_TRUE(newest.ok()) << newest.status();
    if (!newest.ok()) return 0;
    EXPECT_THAT(newest->skipped, testing::IsEmpty());
    return newest->checkpoint.manifest.step();
  }

  size_t FilesInFolder() {
    std::filesystem::directory_iterator begin(folder_.path());
    return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("checkpoint");
  CheckpointFolder folder_{place_.path()};
  std::string whole_;  // bytes of step 2
};

TEST_F(CheckpointKillTest, KilledAtAnyByte_ThePreviousCheckpointLoads) {
  for (size_t written = 0; written <= whole_.size(); ++written) {
    const pid_t child = Fork([&] {
      return folder_
          .Write(2,
                 [&](int fd) -> absl::Status {
                   if (write(fd, whole_.data(), written) < 0)
                     return absl::InternalError("cannot write");
                   Die();
                 })
          .ok();
    });
    ASSERT_TRUE(WasKilled(StatusOf(child)));
    ASSERT_EQ(Newest(), 1u) << written;
    ASSERT_EQ(FilesInFolder(), 2u);
    ASSERT_TRUE(folder_.Prune(3, 1).ok());
    ASSERT_EQ(FilesInFolder(), 1u) << "what the dead writer left is still there";
  }
}

TEST_F(CheckpointKillTest, KilledAroundAnyCall_OneCheckpointLoads) {
  const uint64_t newest_after[] = {1, 1, 1, 2, 2, 2};
  for (int moment = 0; moment < 6; ++moment) {
    const pid_t child = Fork([&] {
      DeadlyCalls calls(moment / 2 + 1, moment % 2 == 1);
      CheckpointFolder folder(folder_.path(), calls);
      return WriteSample(&folder, 2).ok();
    });
    ASSERT_TRUE(WasKilled(StatusOf(child)));
    EXPECT_EQ(Newest(), newest_after[moment]) << moment;
    std::filesystem::remove(folder_.FileOf(2));
  }
}

// Everything that an attempt does to the folder, cut off anywhere: the next attempt always finds a whole one.
TEST_F(CheckpointKillTest, AttemptKilledAroundAnyCall_TheNextOneLoadsAndSaves) {
  uint32_t attempt = 1;
  int deaths = 0;
  for (int moment = 0;; ++moment, attempt += 2) {
    const pid_t child = Fork([&] {
      DeadlyCalls deadly(moment / 2 + 1, moment % 2 == 1);
      const AttemptFence fence(folder_.path(), attempt, deadly);
      FencedFileCalls calls(fence, deadly);
      CheckpointFolder folder(folder_.path(), calls);
      return fence.Raise().ok() && WriteSample(&folder, 2).ok() && folder.Prune(1, 2).ok();
    });
    const bool killed = WasKilled(StatusOf(child));
    const AttemptFence next(folder_.path(), attempt + 1);
    ASSERT_TRUE(next.Raise().ok());
    EXPECT_GE(Newest(), 1u) << moment;
    FencedFileCalls calls(next, FileCalls::System());
    CheckpointFolder folder(folder_.path(), calls);
    ASSERT_TRUE(WriteSample(&folder, 1).ok()) << moment;
    std::filesystem::remove(folder_.FileOf(2));
    if (!killed) break;
    ++deaths;
  }
  EXPECT_GE(deaths, 10) << "before and after three syncs, a renaming and a removal";
}

// What an older attempt may not do once `next` has raised the fence, and what `next` may.
void ExpectOnlyTheNextOneSaves(const std::string& path, uint32_t next) {
  for (const uint32_t attempt : {next - 1, next}) {
    const AttemptFence fence(path, attempt);
    FencedFileCalls calls(fence, FileCalls::System());
    CheckpointFolder folder(path, calls);
    EXPECT_EQ(WriteSample(&folder, attempt).ok(), attempt == next);
    EXPECT_EQ(absl::IsAlreadyExists(fence.Check()), attempt != next);
  }
  EXPECT_THAT(*CheckpointFolder(path).Steps(), testing::ElementsAre(next));
}

TEST_F(CheckpointKillTest, KilledAroundAnyCallOfARaise_TheNextAttemptRaisesItAndTheDeadOneIsOut) {
  int moment = 0;
  for (bool killed = true; killed; ++moment) {
    const std::string path = absl::StrCat(place_.path(), "/", moment, "/job");
    killed = WasKilled(StatusOf(Fork([&] {
      DeadlyCalls deadly(moment / 2 + 1, moment % 2 == 1);
      return AttemptFence(path, 1, deadly).Raise().ok();
    })));
    ASSERT_TRUE(AttemptFence(path, 2).Raise().ok()) << moment;
    ExpectOnlyTheNextOneSaves(path, 2);
  }
  EXPECT_EQ(moment, 7) << "six deaths around the syncs of two folders and a file, and no death";
}

// Between the making of the file and its first length.
TEST_F(CheckpointKillTest, KilledBeforeTheFenceHasANumber_EveryAttemptMayRaiseIt) {
  WriteText(folder_.path() + "/.attempt", "");
  EXPECT_TRUE(AttemptFence(folder_.path(), 1).Check().ok());
  std::filesystem::remove(folder_.FileOf(1));
  ASSERT_TRUE(AttemptFence(folder_.path(), 2).Raise().ok());
  ExpectOnlyTheNextOneSaves(folder_.path(), 2);
}

TEST_F(CheckpointKillTest, KilledAroundAnyRemoval_TheNewestIsThereAndTheNextAttemptTidiesUp) {
  uint32_t attempt = 1;
  int moment = 0;
  for (bool killed = true; killed; ++moment, attempt += 2) {
    for (const uint64_t step : {1, 2, 3}) ASSERT_TRUE(WriteSample(&folder_, step).ok());
    for (const char* name : {"/.a.partial", "/.b.partial"})
      WriteText(folder_.path() + name, "half");
    killed = WasKilled(StatusOf(Fork([&] {
      DeadlyCalls deadly(moment / 2 + 1, moment % 2 == 1);
      const AttemptFence fence(folder_.path(), attempt);
      FencedFileCalls calls(fence, deadly);
      return fence.Raise().ok() && CheckpointFolder(folder_.path(), calls).Prune(1, 3).ok();
    })));
    EXPECT_EQ(Newest(), 3) << moment;
    const AttemptFence next(folder_.path(), attempt + 1);
    FencedFileCalls calls(next, FileCalls::System());
    ASSERT_TRUE(next.Raise().ok()) << moment;
    ASSERT_TRUE(CheckpointFolder(folder_.path(), calls).Prune(1, 3).ok()) << moment;
    EXPECT_EQ(FilesInFolder(), 2) << "the newest, and the fence";
  }
  EXPECT_EQ(moment, 9) << "eight deaths around two checkpoints and two leftovers, and no death";
}

TEST_F(CheckpointKillTest, Control_WrittenInPlaceAndKilled_DoesNotLoad) {
  const pid_t child = Fork([&]() -> bool {
    WriteText(folder_.FileOf(1), whole_.substr(0, whole_.size() / 2));
    Die();
  });
  ASSERT_TRUE(WasKilled(StatusOf(child)));
  EXPECT_FALSE(folder_.OpenNewest().ok());
}

// The bytes of the tensor in the file of step 1.
std::string BytesOf(const Checkpoint& checkpoint) {
  return std::string(checkpoint.file.Bytes(*checkpoint.file.Find("weight")));
}

TEST_F(CheckpointKillTest, TwoWritersAtOnce_NeverGiveAMixedFileAndNeitherFails) {
  constexpr int kRounds = 100;
  const auto write_often = [&](char fill) {
    return Fork([&, fill] {
      bool all = true;
      for (int i = 0; i < kRounds; ++i) {
        all = all && WriteSample(&folder_, 1, fill).ok() && folder_.Prune(1, 1).ok();
      }
      return all;
    });
  };
  const pid_t a = write_often('a'), b = write_often('b');
  int status = 0;
  while (waitpid(a, &status, WNOHANG) == 0) {
    const auto checkpoint = OpenCheckpoint(folder_.FileOf(1));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_TRUE(BytesOf(*checkpoint) == "aaaaaaaa" || BytesOf(*checkpoint) == "bbbbbbbb");
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(StatusOf(b), 0);
  EXPECT_EQ(FilesInFolder(), 1u);
}

}  // namespace
}  // namespace tandem::checkpoint
