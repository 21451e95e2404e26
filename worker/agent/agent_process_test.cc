// The agent with real processes: a fake coordinator on one side, fake trainers on the other.

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "common/clock.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/agent/agent.h"
#include "worker/agent/log_file.h"
#include "worker/agent/testing/fake_coordinator.h"
#include "worker/agent/testing/messages.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

AgentOptions MakeOptions(const std::string& coordinator, const std::string& log_folder, int slots) {
  AgentOptions options;
  options.coordinator = coordinator;
  options.name = WorkerName("worker-1");
  options.incarnation = Incarnation("incarnation-1");
  for (int i = 0; i < slots; ++i) options.slots.push_back("cpu:" + std::to_string(i));
  options.ranks.trainer_path = FAKE_TRAINER;
  options.ranks.logs.directory = log_folder;
  options.backoff = {.first = absl::Milliseconds(10), .longest = absl::Milliseconds(50)};
  return options;
}

// By the notices that stand in place of log lines.
uint64_t LinesLeftOut(const FakeCoordinator::Messages& messages) {
  uint64_t total = 0;
  for (const std::string& notice : FindLog(messages, v1::LOG_STREAM_STDERR)) {
    unsigned long long count = 0;
    EXPECT_EQ(std::sscanf(notice.c_str(), "[tandem-worker: %llu lines are left out", &count), 1);
    total += count;
  }
  return total;
}

// An agent on a thread of its own, connected to a fake coordinator.
class AgentTest : public ::testing::Test {
 protected:
  void TearDown() override { StopAgent(); }

  void StartAgent(int slots = 2) {
    StartAgent(MakeOptions(coordinator_.address(), log_folder_, slots));
  }
  void StartAgent(AgentOptions options) {
    agent_ = std::make_unique<Agent>(loop_.get(), &clock_, std::move(options));
    thread_ = std::thread([this] {
      agent_->Start();
      loop_->Run();
    });
  }
  void StopAgent() {
    if (!thread_.joinable()) return;
    loop_->Post([this] { agent_->Shutdown(absl::OkStatus()); });
    thread_.join();
  }

  std::string LogFileContents(const std::string& name) {
    std::ifstream file(log_folder_ + "/job-1/attempt-1/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-test");
  const std::string log_folder_ = temporary_.path();
  FakeCoordinator coordinator_;
  SystemClock clock_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::unique_ptr<Agent> agent_;
  std::thread thread_;
};

TEST_F(AgentTest, Connect_FirstMessage_IsTheRegistration) {
  StartAgent(2);
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  const v1::WorkerToCoordinator first = coordinator_.messages().front();
  ASSERT_TRUE(first.has_register_());
  EXPECT_EQ(first.register_().name(), "worker-1");
  EXPECT_EQ(first.register_().incarnation(), "incarnation-1");
  EXPECT_EQ(first.register_().advertise_address(), "127.0.0.1");
  EXPECT_THAT(first.register_().slots(), ElementsAre("cpu:0", "cpu:1"));
  EXPECT_THAT(first.register_().running(), IsEmpty());
}

v1::CoordinatorToWorker PrepareCommand() {
  v1::CoordinatorToWorker prepare = Prepare("hang");
  prepare.mutable_prepare_ranks()->mutable_spec()->mutable_command()->add_argv("train");
  return prepare;
}

TEST_F(AgentTest, CommandWhereNoneIsAllowed_IsNotStarted) {
  StartAgent();
  coordinator_.Send(PrepareCommand());
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_THAT(exited.failure().message(), HasSubstr("--allow-commands"));
  EXPECT_FALSE(coordinator_.messages().front().register_().allows_commands());
}

TEST_F(AgentTest, CommandsAreAllowed_SaysSoAndStartsThem) {
  AgentOptions options = MakeOptions(coordinator_.address(), log_folder_, 1);
  options.ranks.command_path = options.ranks.trainer_path;
  StartAgent(std::move(options));
  coordinator_.Send(PrepareCommand());
  EXPECT_NE(AwaitPrepared(&coordinator_, RankOf(0)).pid(), 0);
  EXPECT_TRUE(coordinator_.messages().front().register_().allows_commands());
}

// Two slots of kind "standin", and what its library would say.
AgentOptions OnDevices(AgentOptions options) {
  options.slots = {"standin:0", "standin:1"};
  v1::DeviceLibraryFacts& library = *options.host_devices.add_libraries();
  library.set_kind("standin");
  library.set_visibility_variable("STANDIN_VISIBLE_DEVICES");
  library.add_environment()->set_name("WORKSPACE");
  library.mutable_environment(0)->set_value("fixed");
  for (uint32_t i = 0; i < 3; ++i) {
    v1::DeviceFacts& device = *options.host_devices.add_devices();
    device.set_kind("standin");
    device.set_index(i);
    device.set_uuid("uuid-" + std::to_string(i));
  }
  return options;
}

v1::CoordinatorToWorker PrepareOnDevices(const std::string& behaviour, uint32_t count,
                                         uint32_t attempt = 1) {
  v1::CoordinatorToWorker message = Prepare(behaviour, count, attempt);
  for (v1::RankPlacement& rank : *message.mutable_prepare_ranks()->mutable_ranks()) {
    rank.set_slot("standin:" + std::to_string(rank.rank()));
  }
  return message;
}

TEST_F(AgentTest, Devices_AreRegisteredWithWhatIsKnownOfThem) {
  StartAgent(OnDevices(MakeOptions(coordinator_.address(), log_folder_, 0)));
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 1));
  const v1::Register first = coordinator_.messages().front().register_();
  EXPECT_THAT(first.slots(), ElementsAre("standin:0", "standin:1"));
  // Not of the third, which is not offered.
  ASSERT_EQ(first.devices_size(), 2);
  EXPECT_EQ(first.devices(1).uuid(), "uuid-1");
}

TEST_F(AgentTest, RanksOnDevices_EachSeesItsOwnAloneAndTheLogSaysSo) {
  StartAgent(OnDevices(MakeOptions(coordinator_.address(), log_folder_, 0)));
  coordinator_.Send(PrepareOnDevices("devices", 2));
  for (const uint32_t rank : {0U, 1U}) {
    const std::string own = "STANDIN_VISIBLE_DEVICES=uuid-" + std::to_string(rank);
    EXPECT_TRUE(AwaitExit(&coordinator_, RankOf(rank)).last_lines().empty());
    EXPECT_EQ(LogFileContents("rank-" + std::to_string(rank) + ".out"),
              own + "\nWORKSPACE=fixed\nCUDA_VISIBLE_DEVICES=\n");
    EXPECT_EQ(LogFileContents("rank-" + std::to_string(rank) + ".err"),
              "tandem-worker: slot standin:" + std::to_string(rank) + ", with " + own +
                  " CUDA_VISIBLE_DEVICES= WORKSPACE=fixed\n");
  }
}

TEST_F(AgentTest, DeviceOfARunningRank_IsGivenToNoOther) {
  StartAgent(OnDevices(MakeOptions(coordinator_.address(), log_folder_, 0)));
  coordinator_.Send(PrepareOnDevices("hang", 1));
  AwaitPrepared(&coordinator_, RankOf(0));
  coordinator_.Send(PrepareOnDevices("devices", 1, /*attempt=*/2));
  EXPECT_THAT(AwaitExit(&coordinator_, RankOf(0, 2)).failure().message(),
              HasSubstr("slot standin:0 of worker worker-1 is busy with rank 0"));
}

TEST_F(AgentTest, Rank_WholeLife_IsReportedInOrder) {
  StartAgent();
  coordinator_.Send(Prepare("train"));
  const v1::RankPrepared prepared = AwaitPrepared(&coordinator_, RankOf(0));
  EXPECT_GT(prepared.pid(), 0);
  EXPECT_EQ(prepared.prepared().master_port(), 4321U);
  coordinator_.Send(StartRanks());
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.exit_code(), 0);
  EXPECT_EQ(exited.signal(), 0);
  EXPECT_FALSE(exited.aborted());
  EXPECT_FALSE(exited.has_failure());
  EXPECT_EQ(exited.step(), 3U);
  EXPECT_EQ(exited.phase(), v1::PHASE_DONE);

  std::vector<uint64_t> steps;
  std::string digest;
  for (const auto& message : coordinator_.messages()) {
    for (const auto& sample : message.rank_report().progress().samples()) {
      EXPECT_EQ(digest, "");
      steps.push_back(sample.step());
    }
    if (message.rank_report().has_finished())
      digest = message.rank_report().finished().parameter_digest();
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, 3));
  EXPECT_EQ(digest, "digest");
  EXPECT_THAT(FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT),
              ElementsAre("trained with master port 4321"));
}

TEST_F(AgentTest, Heartbeat_WhileARankRuns_CarriesItsPosition) {
  StartAgent();
  coordinator_.Send(Prepare("hang"));
  EXPECT_TRUE(coordinator_.WaitUntil([](const auto& messages) {
    return std::any_of(messages.begin(), messages.end(), [](const auto& message) {
      return message.heartbeat().ranks_size() == 1 &&
             KeyOf(message.heartbeat().ranks(0)) == RankOf(0) &&
             message.heartbeat().ranks(0).phase() == v1::PHASE_PREPARE;
    });
  }));
}

TEST_F(AgentTest, Rank_ExitsWithACode_IsReportedWithItsLastWords) {
  StartAgent();
  coordinator_.Send(Prepare("exit-3"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.exit_code(), 3);
  EXPECT_THAT(exited.last_lines(), ElementsAre("out of memory, perhaps"));
}

TEST_F(AgentTest, Rank_KilledBySignal_IsReportedWithItsPosition) {
  StartAgent();
  coordinator_.Send(Prepare("die"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.signal(), SIGKILL);
  EXPECT_EQ(exited.exit_code(), 0);
  EXPECT_EQ(exited.step(), 7U);
  EXPECT_EQ(exited.phase(), v1::PHASE_BACKWARD);
  ASSERT_THAT(exited.last_lines(), SizeIs(40));
  EXPECT_EQ(exited.last_lines(39), "stderr 49");
}

TEST_F(AgentTest, Rank_ReportsAFailure_IsRelayedAndKept) {
  StartAgent();
  coordinator_.Send(Prepare("fail"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_BAD_INPUT);
  const auto messages = coordinator_.messages();
  EXPECT_TRUE(std::any_of(messages.begin(), messages.end(),
                          [](const auto& message) { return message.rank_report().has_failure(); }));
}

TEST_F(AgentTest, Rank_ReportsAFailure_ItsExactPositionComesFirst) {
  StartAgent();
  coordinator_.Send(Prepare("fail"));
  AwaitExit(&coordinator_, RankOf(0));
  const auto messages = coordinator_.messages();
  const auto failure = std::find_if(messages.begin(), messages.end(), [](const auto& message) {
    return message.rank_report().has_failure();
  });
  ASSERT_NE(failure, messages.end());
  v1::RankPosition last;
  for (auto message = messages.begin(); message != failure; ++message) {
    for (const auto& position : message->heartbeat().ranks()) last = position;
  }
  EXPECT_EQ(KeyOf(last), RankOf(0));
  EXPECT_EQ(last.step(), 7U);
  EXPECT_EQ(last.phase(), v1::PHASE_BACKWARD);
}

TEST_F(AgentTest, Rank_HangsAfterItHasFinished_IsStoppedAsAborted) {
  AgentOptions options = MakeOptions(coordinator_.address(), log_folder_, 1);
  options.ranks.exit_grace = absl::Milliseconds(20);
  options.ranks.kill_grace = absl::Milliseconds(20);
  StartAgent(options);
  coordinator_.Send(Prepare("finish-and-hang"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.signal(), SIGKILL);
  EXPECT_TRUE(exited.aborted());
  EXPECT_FALSE(exited.has_failure());
  EXPECT_EQ(exited.phase(), v1::PHASE_DONE);
  const auto messages = coordinator_.messages();
  EXPECT_TRUE(std::any_of(messages.begin(), messages.end(), [](const auto& message) {
    return message.rank_report().has_finished();
  }));
}

TEST_F(AgentTest, Exit_OfEveryRank_IsItsLastMessageAndComesOnce) {
  StartAgent(2);
  coordinator_.Send(Prepare("exit-3", 2));
  AwaitExit(&coordinator_, RankOf(0));
  AwaitExit(&coordinator_, RankOf(1));
  StopAgent();
  coordinator_.StopListening();
  std::vector<uint32_t> exited;
  for (const auto& message : coordinator_.messages()) {
    if (message.has_rank_exited()) exited.push_back(message.rank_exited().rank());
    for (const auto& line : message.rank_log().lines())
      EXPECT_THAT(exited, Each(testing::Ne(line.rank())));
    for (const auto& rank : message.heartbeat().ranks())
      EXPECT_THAT(exited, Each(testing::Ne(rank.rank())));
  }
  EXPECT_THAT(exited, testing::UnorderedElementsAre(0, 1));
}

TEST_F(AgentTest, Abort_TrainerIgnoresSigterm_IsKilledAfterTheGrace) {
  StartAgent(2);
  coordinator_.Send(Prepare("ignore-term", 2));
  AwaitPrepared(&coordinator_, RankOf(0));
  AwaitPrepared(&coordinator_, RankOf(1));
  const auto told = std::chrono::steady_clock::now();
  coordinator_.Send(Abort());
  coordinator_.Send(Abort());
  for (uint32_t rank : {0, 1}) {
    const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(rank));
    EXPECT_TRUE(exited.aborted());
    EXPECT_EQ(exited.signal(), SIGKILL);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(10));
}

TEST_F(AgentTest, Abort_OrdinaryTrainer_EndsBySigterm) {
  StartAgent();
  coordinator_.Send(Prepare("hang"));
  AwaitPrepared(&coordinator_, RankOf(0));
  coordinator_.Send(Abort());
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_TRUE(exited.aborted());
  EXPECT_EQ(exited.signal(), SIGTERM);
}

TEST_F(AgentTest, Abort_WithStacks_TrainerPrintsThemBeforeItIsStopped) {
  StartAgent();
  coordinator_.Send(Prepare("stacks"));
  const auto pid = static_cast<pid_t>(AwaitPrepared(&coordinator_, RankOf(0)).pid());
  kill(pid, SIGSTOP);  // As one that hangs may be.
  coordinator_.Send(Abort(1, /*print_stacks=*/true));
  coordinator_.Send(Abort());  // A repeated order does not cut it short.
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_TRUE(exited.aborted());
  EXPECT_THAT(exited.last_lines(), ElementsAre("frame of a stack", "-- end of stacks --"));
}

TEST_F(AgentTest, Abort_WithStacksOfATrainerThatCannotPrintThem_IsStoppedAllTheSame) {
  StartAgent();
  coordinator_.Send(Prepare("hang"));
  AwaitPrepared(&coordinator_, RankOf(0));
  coordinator_.Send(Abort(1, /*print_stacks=*/true));
  EXPECT_TRUE(AwaitExit(&coordinator_, RankOf(0)).signal() != 0);
}

TEST_F(AgentTest, Pause_IsHandedToTheTrainerAndReported) {
  StartAgent();
  coordinator_.Send(Prepare("pause"));
  AwaitPrepared(&coordinator_, RankOf(0));
  coordinator_.Send(StartRanks());
  coordinator_.Send(StartRanks());  // Changes nothing the second time.
  coordinator_.Send(PauseRanks());
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.exit_code(), 0);
  EXPECT_FALSE(exited.aborted());
  const auto messages = coordinator_.messages();
  EXPECT_TRUE(std::any_of(messages.begin(), messages.end(), [](const auto& message) {
    return message.rank_report().paused().step() == 7;
  }));
}

TEST_F(AgentTest, Heartbeat_OfAStoppedProcess_SaysSo) {
  StartAgent();
  coordinator_.Send(Prepare("hang"));
  const auto pid = static_cast<pid_t>(AwaitPrepared(&coordinator_, RankOf(0)).pid());
  const auto is_in = [](v1::ProcessState state) {
    return [state](const FakeCoordinator::Messages& messages) {
      const auto& ranks = messages.back().heartbeat().ranks();
      return !ranks.empty() && ranks[0].process() == state;
    };
  };
  EXPECT_TRUE(coordinator_.WaitUntil(is_in(v1::PROCESS_STATE_SLEEPING)));
  kill(pid, SIGSTOP);
  EXPECT_TRUE(coordinator_.WaitUntil(is_in(v1::PROCESS_STATE_STOPPED)));
  kill(pid, SIGCONT);
  EXPECT_TRUE(coordinator_.WaitUntil(is_in(v1::PROCESS_STATE_SLEEPING)));
}

TEST_F(AgentTest, Abort_OfAnEarlierAttempt_LeavesThisOneAlone) {
  StartAgent(2);
  coordinator_.Send(Prepare("train", 1, 2));
  AwaitPrepared(&coordinator_, RankOf(0, 2));
  coordinator_.Send(Abort(1));
  coordinator_.Send(StartRanks(2));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0, 2));
  EXPECT_FALSE(exited.aborted());
  EXPECT_EQ(exited.exit_code(), 0);
}

TEST_F(AgentTest, Prepare_AfterItsAbort_ExitsAsAbortedWithoutStarting) {
  StartAgent();
  coordinator_.Send(Abort());
  coordinator_.Send(Prepare("hang"));
  EXPECT_TRUE(AwaitExit(&coordinator_, RankOf(0)).aborted());
  EXPECT_THAT(LogFileContents("rank-0.out"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(log_folder_ + "/job-1"));
}

TEST_F(AgentTest, Prepare_SlotIsBusy_FailsThatRankOnly) {
  StartAgent(1);
  coordinator_.Send(Prepare("train"));
  AwaitPrepared(&coordinator_, RankOf(0));
  coordinator_.Send(Prepare("train", 1, 2));
  const v1::RankExited refused = AwaitExit(&coordinator_, RankOf(0, 2));
  EXPECT_EQ(refused.failure().code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(refused.failure().message(), HasSubstr("cpu:0"));
  coordinator_.Send(StartRanks(1));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 0);
}

TEST_F(AgentTest, Prepare_SlotIsUnknown_FailsThatRank) {
  StartAgent(1);
  coordinator_.Send(Prepare("exit-3", 2));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 3);
  EXPECT_THAT(AwaitExit(&coordinator_, RankOf(1)).failure().message(), HasSubstr("cpu:1"));
}

TEST_F(AgentTest, Prepare_Repeated_IsIgnoredAlsoAfterTheExit) {
  StartAgent();
  coordinator_.Send(Prepare("exit-3"));
  AwaitExit(&coordinator_, RankOf(0));
  coordinator_.Send(Prepare("exit-3"));
  // Messages are handled in order, so this one's exit comes after whatever the repetition causes.
  coordinator_.Send(Prepare("exit-3", 1, 2));
  AwaitExit(&coordinator_, RankOf(0, 2));
  const auto messages = coordinator_.messages();
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(),
                          [](const auto& message) {
                            return message.has_rank_exited() &&
                                   KeyOf(message.rank_exited()) == RankOf(0);
                          }),
            1);
}

TEST_F(AgentTest, Prepare_TrainerCannotBeStarted_FailsWithThePath) {
  AgentOptions options = MakeOptions(coordinator_.address(), log_folder_, 1);
  options.ranks.trainer_path = "/nowhere/tandem-trainer";
  StartAgent(options);
  coordinator_.Send(Prepare("train"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(exited.failure().message(), StartsWith("cannot start /nowhere/tandem-trainer: "));
}

TEST_F(AgentTest, Ranks_TwentyAtOnce_AllTrain) {
  StartAgent(20);
  coordinator_.Send(Prepare("train", 20));
  for (uint32_t rank = 0; rank < 20; ++rank) AwaitPrepared(&coordinator_, RankOf(rank));
  coordinator_.Send(StartRanks());
  for (uint32_t rank = 0; rank < 20; ++rank) {
    const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(rank));
    EXPECT_EQ(exited.exit_code(), 0) << rank;
    EXPECT_EQ(exited.step(), 3U) << rank;
  }
}

TEST_F(AgentTest, Trainer_LeavesAGrandchild_ItIsGoneBeforeTheExitIsReported) {
  StartAgent();
  coordinator_.Send(Prepare("grandchild"));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 0);
  const auto lines = FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_TRUE(EndsWithin(std::stoi(lines[0]), 0));
}

TEST_F(AgentTest, Trainer_GrandchildEscapesWithThePipe_ExitIsReportedAllTheSame) {
  StartAgent();
  coordinator_.Send(Prepare("escape"));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 0);
  const auto lines = FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT);
  ASSERT_THAT(lines, SizeIs(1));
  kill(std::stoi(lines[0]), SIGKILL);
}

TEST_F(AgentTest, Trainer_ClosesItsChannelAndLivesOn_IsStoppedWithAReason) {
  StartAgent();
  coordinator_.Send(Prepare("close-channel"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.signal(), SIGTERM);
  EXPECT_FALSE(exited.aborted());
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_RANK_ERROR);
}

TEST_F(AgentTest, Trainer_SendsGarbage_IsStoppedWithAReason) {
  StartAgent();
  coordinator_.Send(Prepare("garbage"));
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.signal(), SIGTERM);
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_RANK_ERROR);
}

TEST_F(AgentTest, Trainer_Descriptors_AreTheStandardThreeAndTheTwoGiven) {
  StartAgent(2);
  coordinator_.Send(Prepare("descriptors", 2));
  AwaitExit(&coordinator_, RankOf(0));
  AwaitExit(&coordinator_, RankOf(1));
  EXPECT_THAT(FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT),
              ElementsAre("0 1 2 3 4 ", "0 1 2 3 4 "));
}

TEST_F(AgentTest, Trainer_Surroundings_AreAsPromised) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  signal(SIGUSR2, SIG_IGN);
  StartAgent();
  coordinator_.Send(Prepare("surroundings"));
  AwaitExit(&coordinator_, RankOf(0));
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  EXPECT_THAT(FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT),
              ElementsAre("OMP_NUM_THREADS=2", "MKL_NUM_THREADS=2", "TANDEM_JOB_ID=job-1",
                          "TANDEM_ATTEMPT=1", "TANDEM_RANK=0", "SigBlk:\t0000000000000000",
                          "SigIgn:\t0000000000000000", "group leader yes"));
}

TEST_F(AgentTest, Log_OddLines_AreRepairedCutAndComplete) {
  StartAgent();
  coordinator_.Send(Prepare("odd-lines"));
  AwaitExit(&coordinator_, RankOf(0));
  EXPECT_THAT(FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT),
              ElementsAre("bad \xEF\xBF\xBD byte", std::string(16 << 10, 'y'),
                          std::string(20000 - (16 << 10), 'y'), "no newline"));
  EXPECT_THAT(LogFileContents("rank-0.out"), StartsWith("bad \xEF\xBF\xBD byte\n"));
}

TEST_F(AgentTest, Log_Flood_FileIsCappedAndNothingIsLostWithoutANotice) {
  AgentOptions options = MakeOptions(coordinator_.address(), log_folder_, 1);
  options.ranks.logs.cap_bytes_per_file = 64 << 10;
  StartAgent(options);
  coordinator_.Send(Prepare("flood"));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 0);
  const std::string file = LogFileContents("rank-0.out");
  EXPECT_LT(file.size(), (64U << 10) + LogFile::kTailBytes + 200);
  EXPECT_THAT(file.substr(64 << 10), HasSubstr("reached its limit"));
  const auto lines = FindLog(coordinator_.messages(), v1::LOG_STREAM_STDOUT);
  EXPECT_TRUE(absl::EndsWith(file, lines.back() + "\n"));
  EXPECT_EQ(lines.size() + LinesLeftOut(coordinator_.messages()), (1U << 10) + 1);
}

TEST_F(AgentTest, Connection_Breaks_RunningRankIsNamedAndGoesOn) {
  StartAgent();
  coordinator_.Send(Prepare("train"));
  const int64_t pid = AwaitPrepared(&coordinator_, RankOf(0)).pid();
  coordinator_.Disconnect();
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 2));
  const v1::Register again = FindRegistrations(coordinator_.messages())[1];
  EXPECT_EQ(again.incarnation(), "incarnation-1");
  ASSERT_THAT(again.running(), SizeIs(1));
  EXPECT_EQ(KeyOf(again.running(0)), RankOf(0));
  EXPECT_EQ(again.running(0).slot(), "cpu:0");
  EXPECT_FALSE(EndsWithin(static_cast<pid_t>(pid), 0));
  coordinator_.Send(StartRanks());
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 0);
}

TEST_F(AgentTest, Coordinator_AwayWhileARankFinishes_HearsEverythingInOrderLater) {
  StartAgent();
  coordinator_.Send(Prepare("train-when-told"));
  const auto pid = static_cast<pid_t>(AwaitPrepared(&coordinator_, RankOf(0)).pid());
  coordinator_.StopListening();
  const size_t before = coordinator_.messages().size();
  kill(pid, SIGUSR1);
  ASSERT_TRUE(EndsWithin(pid, 10000));
  coordinator_.Listen();
  AwaitExit(&coordinator_, RankOf(0));

  const auto messages = coordinator_.messages();
  // Its exit is still unreported, so the registration has to name it.
  ASSERT_TRUE(messages[before].has_register_());
  EXPECT_THAT(messages[before].register_().running(), SizeIs(1));
  std::vector<std::string> heard;
  for (size_t i = before; i < messages.size(); ++i) {
    for (const auto& sample : messages[i].rank_report().progress().samples()) {
      heard.push_back("step " + std::to_string(sample.step()));
    }
    if (messages[i].rank_report().has_finished()) heard.push_back("finished");
    if (messages[i].has_rank_exited()) heard.push_back("exited");
  }
  EXPECT_THAT(heard, ElementsAre("step 1", "step 2", "step 3", "finished", "exited"));
}

TEST_F(AgentTest,
       Connection_BreaksBeforeReportsAreAcknowledged_TheyAreSentAgainAndTheExitTakesItsSlot) {
  StartAgent();
  coordinator_.StopAcknowledging();
  coordinator_.Send(Prepare("exit-3"));
  AwaitExit(&coordinator_, RankOf(0));
  coordinator_.Disconnect();
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 2));
  const v1::Register again = FindRegistrations(coordinator_.messages())[1];
  EXPECT_EQ(again.next_sequence(), 1U);
  // It has been heard of and not taken over: it still runs for the coordinator.
  EXPECT_THAT(again.running(), SizeIs(1));
}

TEST_F(AgentTest, Connection_BreaksAfterReportsWereAcknowledged_NothingIsSaidAgain) {
  StartAgent();
  coordinator_.Send(Prepare("exit-3"));
  AwaitExit(&coordinator_, RankOf(0));
  coordinator_.Send(Prepare("hang", 1, 2));
  AwaitPrepared(&coordinator_, RankOf(0, 2));
  coordinator_.Disconnect();
  ASSERT_TRUE(AwaitRegistrations(&coordinator_, 2));
  const v1::Register again = FindRegistrations(coordinator_.messages())[1];
  EXPECT_GT(again.next_sequence(), 1U);
  ASSERT_THAT(again.running(), SizeIs(1));
  EXPECT_EQ(KeyOf(again.running(0)), RankOf(0, 2));
}

TEST_F(AgentTest, CoordinatorAwayForLongerThanTheLease_OnlyJobsThatWantItAreStopped) {
  coordinator_.SetLease(absl::Milliseconds(100));
  StartAgent(2);
  v1::CoordinatorToWorker stopping = Prepare("hang");
  stopping.mutable_prepare_ranks()->mutable_spec()->set_on_coordinator_loss(
      v1::COORDINATOR_LOSS_STOP);
  coordinator_.Send(stopping);
  v1::CoordinatorToWorker keeping = Prepare("hang", 2, 2);
  keeping.mutable_prepare_ranks()->mutable_ranks()->erase(keeping.prepare_ranks().ranks().begin());
  coordinator_.Send(keeping);
  const auto stopped = static_cast<pid_t>(AwaitPrepared(&coordinator_, RankOf(0)).pid());
  const auto kept = static_cast<pid_t>(AwaitPrepared(&coordinator_, RankOf(1, 2)).pid());
  coordinator_.StopListening();
  EXPECT_TRUE(EndsWithin(stopped, 10000));
  EXPECT_FALSE(EndsWithin(kept, 0));
  coordinator_.Listen();
  const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(0));
  EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_THAT(exited.failure().message(), HasSubstr("on_coordinator_loss is stop"));
}

TEST_F(AgentTest, Registration_NameStillConnected_IsTriedAgain) {
  coordinator_.RefuseNext({grpc::StatusCode::ALREADY_EXISTS, "worker-1 is connected"});
  coordinator_.RefuseNext({grpc::StatusCode::UNAVAILABLE, "stopping"});
  StartAgent();
  EXPECT_TRUE(AwaitRegistrations(&coordinator_, 3));
  coordinator_.Send(Prepare("exit-3"));
  EXPECT_EQ(AwaitExit(&coordinator_, RankOf(0)).exit_code(), 3);
}

TEST_F(AgentTest, Registration_OtherProtocol_EndsTheAgent) {
  coordinator_.RefuseNext({grpc::StatusCode::FAILED_PRECONDITION, "protocol 1 is not 2"});
  StartAgent();
  thread_.join();
  EXPECT_EQ(agent_->outcome().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(agent_->outcome().message()), HasSubstr("protocol 1 is not 2"));
}

TEST_F(AgentTest, Shutdown_WithRunningRanks_TheirExitsSayThatTheAgentLeft) {
  StartAgent(2);
  coordinator_.Send(Prepare("ignore-term", 2));
  AwaitPrepared(&coordinator_, RankOf(0));
  AwaitPrepared(&coordinator_, RankOf(1));
  StopAgent();
  for (uint32_t rank : {0, 1}) {
    const v1::RankExited exited = AwaitExit(&coordinator_, RankOf(rank));
    EXPECT_TRUE(exited.aborted());
    EXPECT_EQ(exited.failure().code(), v1::CAUSE_CODE_WORKER_LOST);
  }
}

}  // namespace
}  // namespace tandem::agent
