#include "server/core/hang_watch.h"

#include "common/proto_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = HangWatch::kDefaultTimeout;

// Ranks report where they are each second, and have all been there since second 0.
class HangWatchTest : public ::testing::Test {
 protected:
  void Start(uint32_t world_size, std::optional<absl::Duration> timeout = std::nullopt) {
    watch_.emplace(world_size, timeout, Now());
  }
  void At(uint32_t rank, uint64_t step, v1::Phase phase,
          v1::ProcessState process = v1::PROCESS_STATE_SLEEPING,
          absl::Duration cpu_time = absl::ZeroDuration()) {
    v1::RankPosition position;
    position.set_step(step);
    position.set_phase(phase);
    position.set_process(process);
    *position.mutable_cpu_time() = ToProto(cpu_time);
    watch_->Observe(Rank(rank), position, Now());
  }
  Moment Now() const { return {absl::UnixEpoch(), now_}; }
  std::string Verdict() const {
    const auto cause = watch_->Check(Now());
    return cause ? cause->message() : "";
  }
  int Blamed() const {
    const auto cause = watch_->Check(Now());
    return cause ? static_cast<int>(cause->rank()) : -1;
  }

  absl::Duration now_ = absl::Hours(1);
  std::optional<HangWatch> watch_;
};

TEST_F(HangWatchTest, RankDoesNotMove_IsNamedWhenItsDeadlineIsOver) {
  Start(3);
  At(0, 7, v1::PHASE_REDUCE);
  At(1, 7, v1::PHASE_FORWARD);
  At(2, 7, v1::PHASE_REDUCE);
  now_ += kLong - absl::Milliseconds(1);
  EXPECT_EQ(Blamed(), -1);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Verdict(),
            "rank 1 of 3 has not moved for 30s at step 7 (forward): its process sleeps, as in a "
            "deadlock; rank 0, rank 2 wait for it");
  const auto cause = watch_->Check(Now());
  EXPECT_EQ(cause->code(), v1::CAUSE_CODE_HUNG);
  EXPECT_EQ(cause->step(), 7U);
  EXPECT_EQ(cause->phase(), v1::PHASE_FORWARD);
}

TEST_F(HangWatchTest, RankThatWaits_IsNeverBlamedThoughItHasBeenStillForLongest) {
  Start(2);
  At(0, 7, v1::PHASE_REDUCE);
  At(1, 7, v1::PHASE_FORWARD);
  for (int i = 0; i < 100; ++i) {
    now_ += kLong - absl::Seconds(1);
    At(1, 7, i % 2 == 0 ? v1::PHASE_BACKWARD : v1::PHASE_FORWARD);
    ASSERT_EQ(Blamed(), -1);
  }
  now_ += kLong;
  EXPECT_EQ(Blamed(), 1);
}

TEST_F(HangWatchTest, SeveralAreLate_TheOneFurthestBehindIsNamed) {
  Start(3);
  At(0, 8, v1::PHASE_DATA);
  At(1, 7, v1::PHASE_OPTIMIZER);
  At(2, 8, v1::PHASE_DATA);
  now_ += kLong;
  EXPECT_EQ(Blamed(), 1);
}

TEST_F(HangWatchTest, EachKindOfHang_IsToldApart) {
  struct Case {
    v1::Phase phase;
    v1::ProcessState process;
    absl::Duration cpu_time;
    const char* words;
  };
  const Case cases[] = {
      {v1::PHASE_FORWARD, v1::PROCESS_STATE_STOPPED, {}, "SIGSTOP"},
      {v1::PHASE_BACKWARD, v1::PROCESS_STATE_RUNNING, {}, "endless loop"},
      {v1::PHASE_BACKWARD, v1::PROCESS_STATE_SLEEPING, kLong, "endless loop"},
      {v1::PHASE_DATA, v1::PROCESS_STATE_SLEEPING, {}, "deadlock of the data loader"},
      {v1::PHASE_DATA, v1::PROCESS_STATE_BLOCKED, {}, "waits for a disk"},
      {v1::PHASE_OPTIMIZER, v1::PROCESS_STATE_UNSPECIFIED, {}, "not known"},
  };
  for (const Case& one : cases) {
    Start(2);
    At(0, 7, v1::PHASE_REDUCE);
    At(1, 7, one.phase, one.process);
    now_ += kLong;
    At(0, 7, v1::PHASE_REDUCE);
    At(1, 7, one.phase, one.process, one.cpu_time);
    EXPECT_EQ(Blamed(), 1);
    EXPECT_THAT(Verdict(), HasSubstr(one.words));
  }
}

TEST_F(HangWatchTest, RankIsStoppedWhileItWaits_ItIsTheOneThatCannotGoOn) {
  Start(2);
  At(0, 7, v1::PHASE_REDUCE);
  At(1, 7, v1::PHASE_REDUCE, v1::PROCESS_STATE_STOPPED);
  now_ += kLong;
  EXPECT_EQ(Blamed(), 1);
  EXPECT_THAT(Verdict(), HasSubstr("SIGSTOP"));
}

TEST_F(HangWatchTest, AllWaitForEachOther_SaysSo) {
  Start(2);
  At(0, 8, v1::PHASE_REDUCE);
  At(1, 7, v1::PHASE_REDUCE);
  now_ += kLong;
  EXPECT_EQ(Blamed(), 1);
  EXPECT_THAT(Verdict(), HasSubstr("all ranks wait for each other"));
}

TEST_F(HangWatchTest, SlowSteps_GetMoreTime) {
  Start(1);
  At(0, 7, v1::PHASE_FORWARD);
  now_ += absl::Seconds(10);
  At(0, 8, v1::PHASE_FORWARD);
  EXPECT_EQ(watch_->Deadline(v1::PHASE_FORWARD), absl::Seconds(200));
  EXPECT_EQ(watch_->Deadline(v1::PHASE_CHECKPOINT), absl::Seconds(2000));
  now_ += absl::Seconds(199);
  EXPECT_EQ(Blamed(), -1);
  now_ += absl::Seconds(1);
  EXPECT_EQ(Blamed(), 0);
}

TEST_F(HangWatchTest, StepWithALongSave_DoesNotGiveTheOthersMoreTime) {
  Start(1);
  At(0, 7, v1::PHASE_FORWARD);
  now_ += absl::Seconds(1);
  At(0, 7, v1::PHASE_CHECKPOINT);
  now_ += absl::Minutes(4);
  At(0, 8, v1::PHASE_FORWARD);
  EXPECT_EQ(watch_->Deadline(v1::PHASE_FORWARD), kLong);
}

TEST_F(HangWatchTest, TimeoutWasGiven_IsTakenAsItIs) {
  Start(1, absl::Seconds(2));
  At(0, 7, v1::PHASE_FORWARD);
  now_ += absl::Seconds(1);
  At(0, 8, v1::PHASE_FORWARD);
  EXPECT_EQ(watch_->Deadline(v1::PHASE_FORWARD), absl::Seconds(2));
  EXPECT_EQ(watch_->Deadline(v1::PHASE_EVALUATE), absl::Seconds(20));
}

TEST_F(HangWatchTest, ExcusedOrForgottenRanks_AreNotBlamed) {
  Start(2);
  At(0, 7, v1::PHASE_FORWARD);
  At(1, 7, v1::PHASE_FORWARD);
  now_ += kLong;
  watch_->Excuse(Rank(0), Now());
  watch_->Forget(Rank(1));
  EXPECT_EQ(Blamed(), -1);
  now_ += kLong;
  EXPECT_EQ(Blamed(), 0);
  EXPECT_THAT(Verdict(), Not(HasSubstr("wait")));
}

}  // namespace
}  // namespace tandem::core
