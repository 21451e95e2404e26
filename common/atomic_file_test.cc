#include "common/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "common/file_descriptor.h"
#include "common/read_file.h"
#include "common/temporary_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Fails one call, the `fail_at`-th of all, with `error`.
class FaultyCalls : public FileCalls {
 public:
  FaultyCalls(int fail_at, int error) : left_(fail_at), error_(error) {}

  int Sync(int fd) override { return Fails() ? -1 : FileCalls::Sync(fd); }
  int Rename(const std::string& from, const std::string& to) override {
    return Fails() ? -1 : FileCalls::Rename(from, to);
  }

 private:
  bool Fails() {
    if (--left_ != 0) return false;
    errno = error_;
    return true;
  }

  int left_;
  const int error_;
};

class AtomicFileTest : public testing::Test {
 protected:
  static auto Bytes(const std::string& bytes) {
    return [bytes](int fd) {
      const auto size = static_cast<ssize_t>(bytes.size());
      return write(fd, bytes.data(), bytes.size()) == size ? absl::OkStatus()
                                                           : absl::ErrnoToStatus(errno, "cannot");
    };
  }

  // Hidden ones as well.
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  absl::Status Write(const std::string& bytes, FileCalls& calls = FileCalls::System()) {
    return WriteFileAtomically(path_, IfExists::kReplace, Bytes(bytes), calls);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("atomic");
  const std::string path_ = folder_.File("file");
};

TEST_F(AtomicFileTest, Write_NewFile_HasTheBytesAndNothingElseIsLeft) {
  ASSERT_TRUE(Write("new").ok());
  EXPECT_EQ(*ReadFile(path_), "new");
  EXPECT_THAT(Files(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, Write_NewFile_MayBeReadByWhomTheUmaskAllows) {
  const mode_t before = umask(027);
  EXPECT_TRUE(Write("new").ok());
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(AtomicFileTest, Write_FileThatIsThere_IsReplacedOrRefused) {
  ASSERT_TRUE(Write("old").ok());
  const auto refused = WriteFileAtomically(path_, IfExists::kFail, Bytes("new"));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_EQ(*ReadFile(path_), "old");
  EXPECT_THAT(Files(), ElementsAre("file"));
  EXPECT_TRUE(Write("new").ok());
  EXPECT_EQ(*ReadFile(path_), "new");
}

TEST_F(AtomicFileTest, Write_NotThereAndMustNotBe_IsMade) {
  EXPECT_TRUE(WriteFileAtomically(path_, IfExists::kFail, Bytes("new")).ok());
  EXPECT_EQ(*ReadFile(path_), "new");
  EXPECT_THAT(Files(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, Write_WriterFails_LeavesTheOldFileAndSaysWhich) {
  ASSERT_TRUE(Write("old").ok());
  const auto failed = WriteFileAtomically(path_, IfExists::kReplace, [](int fd) {
    EXPECT_EQ(write(fd, "ne", 2), 2);
    return absl::ResourceExhaustedError("no space");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(failed));
  EXPECT_THAT(std::string(failed.message()), StartsWith(path_ + ": "));
  EXPECT_EQ(*ReadFile(path_), "old");
  EXPECT_THAT(Files(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, Write_DiskIsFull_IsResourceExhausted) {
  const auto full = WriteFileAtomically(path_, IfExists::kReplace, [](int) {
    const FileDescriptor device(open("/dev/full", O_WRONLY));
    return Bytes("new")(device.get());
  });
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(AtomicFileTest, Write_AnyCallFails_SaysSoAndLeavesOneWholeFile) {
  // Sync of the file, rename, sync of the folder.
  const char* left[] = {"old", "old", "new"};
  for (int call = 1; call <= 3; ++call) {
    ASSERT_TRUE(Write("old").ok());
    FaultyCalls faulty(call, ENOSPC);
    const auto failed = Write("new", faulty);
    EXPECT_TRUE(absl::IsResourceExhausted(failed)) << call << failed;
    EXPECT_THAT(std::string(failed.message()), StartsWith(folder_.path()));
    EXPECT_EQ(*ReadFile(path_), left[call - 1]) << call;
    EXPECT_THAT(Files(), ElementsAre("file"));
  }
}

TEST_F(AtomicFileTest, Write_MissingFolder_IsNotFound) {
  const auto failed =
      WriteFileAtomically(folder_.File("no/file"), IfExists::kReplace, Bytes("new"));
  EXPECT_TRUE(absl::IsNotFound(failed)) << failed;
}

TEST_F(AtomicFileTest, RemoveStaleTemporaries_OfADeadWriter_AreRemoved) {
  std::ofstream(folder_.File(".file.0123456789abcdef.partial")) << "half";
  std::ofstream(folder_.File(".hidden")) << "not ours";
  EXPECT_TRUE(RemoveStaleTemporaries(folder_.path()).ok());
  EXPECT_THAT(Files(), ElementsAre(".hidden"));
}

TEST_F(AtomicFileTest, RemoveStaleTemporaries_OfALivingWriter_AreLeft) {
  const auto written = WriteFileAtomically(path_, IfExists::kReplace, [&](int fd) {
    EXPECT_TRUE(RemoveStaleTemporaries(folder_.path()).ok());
    EXPECT_EQ(Files().size(), 1u);
    return Bytes("new")(fd);
  });
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(*ReadFile(path_), "new");
}

TEST_F(AtomicFileTest, RemoveStaleTemporaries_OfAPipeOrALink_DoesNotWait) {
  ASSERT_EQ(mkfifo(folder_.File(".pipe.partial").c_str(), 0600), 0);
  ASSERT_EQ(symlink(path_.c_str(), folder_.File(".link.partial").c_str()), 0);
  EXPECT_TRUE(RemoveStaleTemporaries(folder_.path()).ok());
}

TEST_F(AtomicFileTest, RemoveStaleTemporaries_MissingFolder_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(RemoveStaleTemporaries(folder_.File("none"))));
}

TEST_F(AtomicFileTest, CreateFolders_MakesAllThatAreMissing) {
  EXPECT_TRUE(CreateFolders(folder_.File("a/b/c/")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder_.File("a/b/c")));
  EXPECT_TRUE(CreateFolders(folder_.File("a/b/c")).ok());
}

TEST_F(AtomicFileTest, CreateFolders_FileInTheWay_FailsAndNamesThePath) {
  ASSERT_TRUE(Write("file").ok());
  const auto failed = CreateFolders(path_ + "/below");
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(std::string(failed.message()), StartsWith(path_));
}

}  // namespace
}  // namespace tandem
