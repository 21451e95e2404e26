// tandem-worker as a program: its exit codes, and what is left when it dies.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/file_descriptor.h"
#include "common/spawn.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/agent/testing/fake_coordinator.h"
#include "worker/agent/testing/messages.h"

namespace tandem::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTwoDevices[] = R"({
  "devices": [{"kind": "standin", "model": "Stand-in 0", "uuid": "a"},
              {"kind": "standin", "index": 1, "model": "Stand-in 1", "uuid": "b"}],
  "libraries": [{"kind": "standin", "visibilityVariable": "STANDIN_VISIBLE_DEVICES"}]})";
constexpr char kNoDriver[] =
    R"({"libraries": [{"kind": "standin", "problem": "this host has no driver"}]})";

class WorkerBinaryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (worker_ > 0) {
      kill(worker_, SIGKILL);
      waitpid(worker_, nullptr, 0);
    }
  }

  Command WorkerCommand(std::vector<std::string> arguments) {
    null_input_.Reset(open("/dev/null", O_RDONLY));
    out_.Reset(open((folder_ + "/out").c_str(), O_WRONLY | O_CREAT, 0600));
    err_.Reset(open((folder_ + "/err").c_str(), O_WRONLY | O_CREAT, 0600));
    return {.path = TANDEM_WORKER,
            .arguments = std::move(arguments),
            .environment = {"TMPDIR=" + folder_},
            .descriptors = {null_input_.get(), out_.get(), err_.get()}};
  }

  void StartWorker(std::vector<std::string> arguments) {
    const auto pid = Spawn(WorkerCommand(std::move(arguments)));
    ASSERT_TRUE(pid.ok()) << pid.status();
    worker_ = *pid;
  }
  // Shell scripts in the place of tandem-trainer, asked for the devices of this host.
  std::string TrainerThatDoes(const std::string& script) {
    const std::string path = folder_ + "/trainer";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string TrainerThatAnswers(const std::string& report) {
    return TrainerThatDoes("cat <<END\n" + report + "\nEND");
  }

  void StartConnectedWorker() {
    StartWorker(
        {"--coordinator", coordinator_.address(), "--slots", "cpu:2", "--trainer", FAKE_TRAINER});
    ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  }

  // The wait status of the worker; nothing if it runs on for so long.
  std::optional<int> StatusWithin(int milliseconds) {
    const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, worker_, 0)));
    pollfd ended{pidfd.get(), POLLIN, 0};
    int status = 0;
    if (poll(&ended, 1, milliseconds) != 1) return std::nullopt;
    if (waitpid(worker_, &status, 0) == worker_) worker_ = 0;
    return status;
  }
  int ExitCode() {
    const auto status = StatusWithin(30000);
    return status.has_value() && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  }

  std::string Contents(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Those that a worker made of its own accord.
  std::vector<std::filesystem::path> LogFolders() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("tandem-worker-")) found.push_back(entry);
    }
    return found;
  }

  // Starts two ranks that only SIGKILL ends.
  std::vector<pid_t> StartRanksThatIgnoreTerm() {
    coordinator_.Send(Prepare("ignore-term", 2));
    std::vector<pid_t> pids;
    for (uint32_t rank : {0, 1}) pids.push_back(AwaitPrepared(&coordinator_, RankOf(rank)).pid());
    return pids;
  }

  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = temporary_.path();
  FileDescriptor null_input_, out_, err_;
  FakeCoordinator coordinator_;
  pid_t worker_ = 0;
};

void ExpectOneLineWith(const std::string& text, const std::string& part) {
  EXPECT_THAT(text, HasSubstr(part));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST_F(WorkerBinaryTest, BadFlag_ExitsWithTwoAndOneLine) {
  StartWorker({"--slots", "cpu:none"});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "--slots");
}

TEST_F(WorkerBinaryTest, DeviceThatWorks_IsOfferedWithWhatTheTrainerSaysOfIt) {
  StartWorker({"--coordinator", coordinator_.address(), "--slots", "standin:1", "--trainer",
               TrainerThatAnswers(kTwoDevices)});
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  const v1::Register registration = FindRegistrations(coordinator_.messages()).front();
  EXPECT_THAT(registration.slots(), ElementsAre("standin:1"));
  ASSERT_THAT(registration.devices(), SizeIs(1));
  EXPECT_EQ(registration.devices(0).model(), "Stand-in 1");
}

TEST_F(WorkerBinaryTest, DeviceThatIsNotThere_ExitsWithTwoAndNamesIt) {
  StartWorker({"--slots", "standin:0,5", "--trainer", TrainerThatAnswers(kTwoDevices)});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "--slots: standin:5: this host has standin:0, standin:1");
}

TEST_F(WorkerBinaryTest, KindThatDoesNotWork_ExitsWithTwoAndTheWordsOfItsLibrary) {
  StartWorker({"--slots", "standin:0", "--trainer", TrainerThatAnswers(kNoDriver)});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "--slots: standin:0: this host has no driver");
}

TEST_F(WorkerBinaryTest, TrainerCrashesWhenAsked_ExitsWithTwoAndSaysSo) {
  StartWorker({"--slots", "auto", "--trainer", TrainerThatDoes("kill -SEGV $$")});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "was ended by signal 11");
}

TEST_F(WorkerBinaryTest, AutoWithoutDevice_OffersTheCpuAndSaysWhy) {
  StartWorker({"--coordinator", coordinator_.address(), "--slots", "auto", "--trainer",
               TrainerThatAnswers(kNoDriver)});
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  EXPECT_THAT(FindRegistrations(coordinator_.messages()).front().slots(), Contains("cpu:0"));
  EXPECT_THAT(Contents("err"), HasSubstr("no device is offered: standin: this host has no driver"));
}

TEST_F(WorkerBinaryTest, StoppedWhileItLooksAtDevices_EndsAtOnce) {
  StartWorker({"--slots", "auto", "--trainer",
               TrainerThatDoes("touch " + folder_ + "/asked; exec sleep 1000")});
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!std::filesystem::exists(folder_ + "/asked") && absl::Now() < deadline) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(std::filesystem::exists(folder_ + "/asked"));
  kill(worker_, SIGTERM);
  EXPECT_TRUE(StatusWithin(10000).has_value());
}

TEST_F(WorkerBinaryTest, TrainerMissing_ExitsWithTwoAndThePath) {
  StartWorker({"--slots", "cpu:1", "--trainer", "/nowhere/trainer"});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "/nowhere/trainer");
}

TEST_F(WorkerBinaryTest, LogFolderImpossible_ExitsWithTwoAndThePath) {
  StartWorker({"--slots", "cpu:1", "--trainer", FAKE_TRAINER, "--log-dir", "/proc/logs"});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "/proc/logs");
}

TEST_F(WorkerBinaryTest, Connected_SaysSoOnce) {
  StartConnectedWorker();
  coordinator_.Send(Prepare("exit-3"));
  AwaitExit(&coordinator_, RankOf(0));
  ExpectOneLineWith(Contents("out"), "connected to " + coordinator_.address() + " with 2 slots");
}

TEST_F(WorkerBinaryTest, NotConnected_SameReasonSeveralTimes_SaysItOnce) {
  for (int i = 0; i < 3; ++i)
    coordinator_.RefuseNext({grpc::StatusCode::ALREADY_EXISTS, "name is taken"});
  StartWorker({"--coordinator", coordinator_.address(), "--slots", "cpu:1", "--trainer",
               FAKE_TRAINER, "--name", "w"});
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 4));
  const std::string printed = Contents("err");
  const size_t first = printed.find("name is taken");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(printed.find("name is taken", first + 1), std::string::npos);
}

TEST_F(WorkerBinaryTest, Refused_ExitsWithOneAndTheReason) {
  coordinator_.RefuseNext({grpc::StatusCode::FAILED_PRECONDITION, "protocol 1 is not 2"});
  StartWorker(
      {"--coordinator", coordinator_.address(), "--slots", "cpu:1", "--trainer", FAKE_TRAINER});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_THAT(Contents("err"), HasSubstr("protocol 1 is not 2"));
}

TEST_F(WorkerBinaryTest, CoordinatorGoneForTooLong_ExitsWithOneAndStopsItsRanks) {
  StartWorker({"--coordinator", coordinator_.address(), "--slots", "cpu:2", "--trainer",
               FAKE_TRAINER, "--exit-when-coordinator-gone", "200ms"});
  const std::vector<pid_t> trainers = StartRanksThatIgnoreTerm();
  coordinator_.StopListening();
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_THAT(Contents("err"), HasSubstr("has been gone for 200ms"));
  for (pid_t pid : trainers) EXPECT_TRUE(EndsWithin(pid, 0));
}

TEST_F(WorkerBinaryTest, Sigterm_ReportsExitsAndEnds) {
  StartConnectedWorker();
  const std::vector<pid_t> trainers = StartRanksThatIgnoreTerm();
  kill(worker_, SIGTERM);
  const auto status = StatusWithin(10000);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 0);
  for (pid_t pid : trainers) EXPECT_TRUE(EndsWithin(pid, 0));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(1));
  EXPECT_TRUE(exited.aborted());
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_WORKER_LOST);
}

TEST_F(WorkerBinaryTest, AdvertiseAddressIsAName_ExitsWithTwoAndOneLine) {
  StartWorker({"--slots", "cpu:1", "--trainer", FAKE_TRAINER, "--advertise-address", "node-1"});
  EXPECT_EQ(ExitCode(), 2);
  ExpectOneLineWith(Contents("err"), "--advertise-address: 'node-1' is not an IPv4 or IPv6");
}

TEST_F(WorkerBinaryTest, OwnLogFolder_NoRankHasRun_GoesAtExit) {
  StartConnectedWorker();
  EXPECT_THAT(LogFolders(), SizeIs(1));
  kill(worker_, SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_THAT(LogFolders(), IsEmpty());
}

TEST_F(WorkerBinaryTest, OwnLogFolder_ARankHasRun_IsKept) {
  StartConnectedWorker();
  coordinator_.Send(Prepare("exit-3"));
  AwaitExit(&coordinator_, RankOf(0));
  kill(worker_, SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
  ASSERT_THAT(LogFolders(), SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(LogFolders()[0] / "job-1/attempt-1/rank-0.err"));
}

TEST_F(WorkerBinaryTest, GivenLogFolder_NoRankHasRun_IsKept) {
  const std::string given = folder_ + "/given";
  StartWorker({"--coordinator", coordinator_.address(), "--slots", "cpu:1", "--trainer",
               FAKE_TRAINER, "--log-dir", given});
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  kill(worker_, SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(std::filesystem::exists(given));
}

TEST_F(WorkerBinaryTest, Sigkill_LeavesNoTrainerAlive) {
  StartConnectedWorker();
  const std::vector<pid_t> trainers = StartRanksThatIgnoreTerm();
  for (pid_t pid : trainers) ASSERT_FALSE(EndsWithin(pid, 0));
  kill(worker_, SIGKILL);
  for (pid_t pid : trainers) EXPECT_TRUE(EndsWithin(pid, 10000));
}

TEST_F(WorkerBinaryTest, DieWithParent_ParentIsKilled_WorkerAndTrainersEnd) {
  const pid_t parent = fork();
  if (parent == 0) {
    const auto worker =
        Spawn(WorkerCommand({"--coordinator", coordinator_.address(), "--slots", "cpu:2",
                             "--trainer", FAKE_TRAINER, "--die-with-parent"}));
    if (!worker.ok()) _exit(1);
    while (true) pause();
  }
  const std::vector<pid_t> trainers = StartRanksThatIgnoreTerm();
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (pid_t pid : trainers) EXPECT_TRUE(EndsWithin(pid, 10000));
}

}  // namespace
}  // namespace tandem::agent
