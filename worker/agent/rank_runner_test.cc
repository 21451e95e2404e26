// One rank without an agent: the test is the loop's thread, so it decides what the loop learns
// when.

#include "worker/agent/rank_runner.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/temporary_folder.h"
#include "gtest/gtest.h"
#include "worker/agent/testing/messages.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {
namespace {

class RankRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.trainer_path = FAKE_TRAINER;
    options_.logs.directory = log_folder_;
  }

  void Start(const std::string& behaviour) {
    v1::JobSpec spec;
    spec.set_name(behaviour);
    Start(spec);
  }
  void Start(const v1::JobSpec& spec) {
    v1::Prepare prepare;
    SetKey(RankOf(0), &prepare);
    *prepare.mutable_spec() = spec;
    auto runner = RankRunner::Start({.loop = loop_.get(),
                                     .clock = &clock_,
                                     .options = &options_,
                                     .send = [this](auto message) { OnSent(message); }},
                                    prepare, [this] { loop_->Stop(); });
    ASSERT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }

  void OnSent(const v1::WorkerToCoordinator& message) {
    if (message.has_rank_prepared() && on_prepared_) on_prepared_(message.rank_prepared().pid());
    if (message.rank_report().has_failure() && on_failure_) on_failure_();
    for (const auto& position : message.heartbeat().ranks()) position_ = position;
    if (message.has_rank_exited()) exited_ = message.rank_exited();
  }

  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-test");
  const std::string log_folder_ = temporary_.path();
  SystemClock clock_;
  RankOptions options_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::unique_ptr<RankRunner> runner_;
  std::function<void(pid_t)> on_prepared_;
  std::function<void()> on_failure_;
  v1::RankPosition position_;
  v1::RankExited exited_;
};

TEST_F(RankRunnerTest, Stop_TrainerHadDiedByItself_KeepsItsOwnCause) {
  Start("hang");
  on_prepared_ = [this](pid_t pid) {
    kill(pid, SIGKILL);
    ASSERT_TRUE(EndsWithin(pid, 10000));
    runner_->Stop(false);
  };
  loop_->Run();
  EXPECT_EQ(exited_.signal(), SIGKILL);
  EXPECT_FALSE(exited_.aborted());
}

// It ignores SIGTERM: what it ends of tells which of the two graces it had.
TEST_F(RankRunnerTest, Stop_Command_HasItsOwnStandInAndItsOwnGrace) {
  options_.command_path = options_.trainer_path;
  options_.trainer_path = "/nonexistent";
  options_.kill_grace = absl::Hours(1);
  v1::JobSpec spec;
  spec.set_name("ignore-term");
  spec.mutable_command()->mutable_stop_grace()->set_nanos(20'000'000);
  Start(spec);
  ASSERT_NE(runner_, nullptr);
  EXPECT_EQ(runner_->grace(), absl::Milliseconds(20));
  on_prepared_ = [this](pid_t) { runner_->Stop(false); };
  loop_->Run();
  EXPECT_EQ(exited_.signal(), SIGKILL);
  EXPECT_TRUE(exited_.aborted());
}

TEST_F(RankRunnerTest, Stop_ProgramHasFailedAndIsClearedAway_KeepsItsOwnCause) {
  Start("fail-slowly");
  on_prepared_ = [this](pid_t) { runner_->Stop(false); };
  loop_->Run();
  EXPECT_EQ(exited_.exit_code(), 3);
  EXPECT_FALSE(exited_.aborted());
}

TEST_F(RankRunnerTest, Stop_TrainerRuns_IsAbortedWithoutAFailure) {
  Start("hang");
  on_prepared_ = [this](pid_t) { runner_->Stop(false); };
  loop_->Run();
  EXPECT_EQ(exited_.signal(), SIGTERM);
  EXPECT_TRUE(exited_.aborted());
  EXPECT_FALSE(exited_.has_failure());
}

TEST_F(RankRunnerTest, Stop_TrainerCrashes_IsItsOwnDeath) {
  Start("crash-on-term");
  on_prepared_ = [this](pid_t) { runner_->Stop(false); };
  loop_->Run();
  EXPECT_EQ(exited_.signal(), SIGABRT);
  EXPECT_FALSE(exited_.aborted());
}

TEST_F(RankRunnerTest, Stop_TrainerCrashesAfterAFailure_StaysAborted) {
  Start("fail-and-crash-on-term");
  on_failure_ = [this] { runner_->Stop(false); };
  loop_->Run();
  EXPECT_EQ(exited_.signal(), SIGABRT);
  EXPECT_TRUE(exited_.aborted());
  EXPECT_TRUE(exited_.has_failure());
}

TEST_F(RankRunnerTest, Failure_IsReportedAfterThePositionWhereItHappened) {
  Start("fail");
  v1::RankPosition position;
  on_failure_ = [&] { position = position_; };
  loop_->Run();
  EXPECT_EQ(KeyOf(position), RankOf(0));
  EXPECT_EQ(position.step(), 7U);
  EXPECT_EQ(position.phase(), v1::PHASE_BACKWARD);
}

TEST_F(RankRunnerTest, Destructor_TrainerStillRuns_KillsIt) {
  Start("ignore-term");
  pid_t trainer = 0;
  on_prepared_ = [&](pid_t pid) {
    trainer = pid;
    loop_->Stop();
  };
  loop_->Run();
  runner_.reset();
  EXPECT_TRUE(EndsWithin(trainer, 2000));
}

}  // namespace
}  // namespace tandem::agent
