// Jobs on devices: which kind they get, and the id by which their ranks meet.
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using To = v1::CoordinatorToWorker;

class CoordinatorDevices : public ::testing::Test, public SmallCluster {
 protected:
  void ConnectDevices(const std::string& name, int slots, const std::string& kind = "cuda") {
    Connect(Registration(name, slots, "first", kind));
  }
  std::vector<std::string> SlotsOf(const std::string& id) const {
    std::vector<std::string> slots;
    for (const v1::RankStatus& rank : job(id).ranks()) slots.push_back(rank.slot());
    return slots;
  }
  // Its only rank is killed, and it is placed again.
  void FailOnce(const std::string& id) {
    Kill(id, 0);
    BeatThrough(absl::Minutes(2));
  }
};

TEST_F(CoordinatorDevices, NoKindIsNamed_DevicesComeBeforeCpu) {
  Connect("a", 4);
  ConnectDevices("b", 1);
  Submit("j", 1);
  EXPECT_THAT(SlotsOf("j"), ElementsAre("cuda:0"));
}

TEST_F(CoordinatorDevices, NoKindIsNamedAndDevicesAreBusy_ItWaitsBesideFreeCpus) {
  Connect("a", 4);
  ConnectDevices("b", 1);
  Submit("first", 1);
  Submit("j", 1);
  EXPECT_EQ(job("j").waiting_reason(), "needs 1 cuda slot, 0 are free of 1");
}

TEST_F(CoordinatorDevices, TooFewDevices_ItDoesNotChangeItsBitsByGoingToCpu) {
  Connect("a", 4);
  ConnectDevices("b", 1);
  Submit("j", 2);
  EXPECT_EQ(job("j").waiting_reason(), "needs 2 cuda slots but all workers together have 1");
}

TEST_F(CoordinatorDevices, WorkerWithDevicesIsDrained_ItWaitsAndIsNotSentToTheCpuForGood) {
  Connect("a", 4);
  ConnectDevices("b", 1);
  Apply(DrainRequested{WorkerName("b"), false});
  Submit("j", 1);
  EXPECT_EQ(job("j").waiting_reason(), "needs 1 cuda slot but no connected worker has any");
  Apply(DrainRequested{WorkerName("b"), true});
  EXPECT_THAT(SlotsOf("j"), ElementsAre("cuda:0"));
}

TEST_F(CoordinatorDevices, DeviceThatAnotherWorkerOffers_IsRefused) {
  v1::Register first = Registration("a", 1, "first", "cuda");
  v1::DeviceFacts& device = *first.add_devices();
  device.set_kind("cuda");
  device.set_uuid("GPU-1");
  Connect(first);
  v1::Register second = first;
  second.set_name("b");
  Connect(second);
  EXPECT_EQ(All<CloseWorker>().at(0).status.code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(CoordinatorDevices, KindIsNamed_ItIsNowhereElse) {
  Connect("a", 2);
  ConnectDevices("b", 2);
  spec.set_device("cpu");
  Submit("cpu", 2);
  spec.set_device("xpu");
  Submit("none", 1);
  EXPECT_THAT(SlotsOf("cpu"), ElementsAre("cpu:0", "cpu:1"));
  EXPECT_EQ(job("none").waiting_reason(), "needs 1 xpu slot but no connected worker has any");
}

TEST_F(CoordinatorDevices, WorkerWithSeveralKinds_EachAttemptIsOnOne) {
  v1::Register registration = Registration("a", 2);
  registration.add_slots("cuda:0");
  registration.add_slots("cuda:1");
  Connect(registration);
  spec.set_device("cpu");
  Submit("on-cpu", 2);
  Submit("on-cuda", 2);
  EXPECT_THAT(SlotsOf("on-cpu"), ElementsAre("cpu:0", "cpu:1"));
  EXPECT_THAT(SlotsOf("on-cuda"), ElementsAre("cuda:0", "cuda:1"));
}

TEST_F(CoordinatorDevices, Program_GetsTheKindOfWorkersThatAllowIt) {
  Connect("a", 1);
  v1::Register without = Registration("b", 1, "first", "cuda");
  without.set_allows_commands(false);
  Connect(without);
  spec.mutable_command()->add_argv("train");
  Submit("j", 1);
  EXPECT_THAT(SlotsOf("j"), ElementsAre("cpu:0"));
}

TEST_F(CoordinatorDevices, FirstAttemptWasOnCpu_DevicesThatComeLaterChangeNothing) {
  Connect("a", 1);
  spec.mutable_restart()->set_max(3);
  Submit("j", 1);
  ConnectDevices("b", 2);
  FailOnce("j");
  EXPECT_EQ(job("j").attempt(), 2U);
  EXPECT_THAT(SlotsOf("j"), ElementsAre("cpu:0"));
}

TEST_F(CoordinatorDevices, CoordinatorRestarts_KindOfTheFirstAttemptIsKept) {
  Connect("a", 1);
  spec.mutable_restart()->set_max(3);
  Submit("j", 1);
  Lose("a");
  ASSERT_EQ(state("j"), v1::JOB_STATE_QUEUED);
  Restart();
  ConnectDevices("b", 2);
  BeatThrough(absl::Minutes(2));
  EXPECT_EQ(job("j").waiting_reason(), "needs 1 cpu slot but no connected worker has any");
  // Control: one that has never begun is free to take them.
  Submit("new", 1);
  EXPECT_THAT(SlotsOf("new"), ElementsAre("cuda:0"));
}

TEST_F(CoordinatorDevices, SlotsOfDevices_SayWhatTheyAre) {
  v1::Register registration = Registration("a", 1);
  registration.add_slots("cuda:1");
  v1::DeviceFacts& device = *registration.add_devices();
  device.set_kind("cuda");
  device.set_index(1);
  device.set_model("NVIDIA H200");
  device.set_uuid("GPU-1");
  device.set_total_bytes(1 << 20);
  Connect(registration);
  const v1::Worker worker = core().Workers().at(0);
  EXPECT_THAT(worker.slots(0).model(), IsEmpty());
  EXPECT_EQ(worker.slots(1).model(), "NVIDIA H200");
  EXPECT_EQ(worker.slots(1).uuid(), "GPU-1");
  EXPECT_EQ(worker.slots(1).memory_bytes(), 1U << 20);
}

// Job "j" of two ranks on two workers, while it prepares.
class MeetingById : public CoordinatorDevices {
 protected:
  MeetingById() {
    ConnectDevices("a", 1);
    ConnectDevices("b", 1);
    spec.mutable_restart()->set_max(3);
    nccl_id = Id('a');
    Submit("j", 2);
  }
  static std::string Id(char filling) { return std::string(128, filling); }
  // A rank that has no business with it announces one.
  void PrepareWithId(uint32_t rank, const std::string& id) {
    v1::WorkerToCoordinator message = PreparedMessage("j", rank, 4444);
    message.mutable_rank_prepared()->mutable_prepared()->set_nccl_unique_id(id);
    Say(WorkerOf("j", rank), message);
  }
  std::vector<std::string> IdsSent() const {
    std::vector<std::string> ids;
    for (const auto& [worker, message] : Sent(To::kStartRanks)) {
      ids.push_back(message.start_ranks().start().nccl_unique_id());
    }
    return ids;
  }
};

TEST_F(MeetingById, AllReady_EveryRankIsToldTheIdOfRankZero) {
  PrepareWithId(1, Id('b'));
  Prepare("j", 0);
  EXPECT_THAT(IdsSent(), ElementsAre(Id('a'), Id('a')));
}

TEST_F(MeetingById, AllReady_ClientsAndLogsSeeAFingerprint) {
  PrepareAll("j");
  // printf 'a%.0s' {1..128} | sha256sum
  EXPECT_EQ(job("j").nccl_fingerprint(), "6836cf13");
  EXPECT_FALSE(absl::StrContains(job("j").SerializeAsString(), Id('a')));
  for (const Log& log : All<Log>()) EXPECT_FALSE(absl::StrContains(log.text, "aaaa")) << log.text;
}

TEST_F(MeetingById, OtherJobsAndAttempts_AreToldNothing) {
  ConnectDevices("c", 2);
  Submit("other", 2);
  PrepareAll("j");
  for (const SendToWorker& send : All<SendToWorker>()) {
    EXPECT_NE(send.worker.value(), "c");
  }
  Kill("j", 0);
  ExitAborted("j", 1);
  nccl_id = Id('c');
  BeatThrough(absl::Minutes(2));
  ASSERT_EQ(job("j").attempt(), 2U);
  EXPECT_THAT(job("j").nccl_fingerprint(), IsEmpty());
  PrepareAll("j");
  EXPECT_THAT(IdsSent(), ElementsAre(Id('c'), Id('c')));
}

TEST_F(MeetingById, OfAStaleAttempt_IsRefused) {
  const v1::WorkerToCoordinator stale = PreparedMessage("j", 0, 4444);
  Kill("j", 0);
  ExitAborted("j", 1);
  BeatThrough(absl::Minutes(2));
  ASSERT_EQ(job("j").attempt(), 2U);
  Say("a", stale);
  EXPECT_THAT(Sent(To::kAbort), SizeIs(1));
  nccl_id = Id('c');
  PrepareAll("j");
  EXPECT_THAT(IdsSent(), ElementsAre(Id('c'), Id('c')));
}

TEST_F(MeetingById, RankZeroHasNone_AttemptFailsAndSaysSo) {
  nccl_id.clear();
  Prepare("j", 0);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_EQ(job("j").cause().rank(), 0U);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("no NCCL id"));
  EXPECT_THAT(Sent(To::kAbort), SizeIs(2));
}

TEST_F(MeetingById, IdOfAnotherSize_AttemptFailsAndSaysHowLongItIs) {
  nccl_id = std::string(64, 'a');
  Prepare("j", 0);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("64 bytes instead of 128"));
}

TEST_F(MeetingById, CoordinatorRestarts_RunningAttemptIsToldTheSameAgain) {
  PrepareAll("j");
  Restart();
  v1::Register registration = Registration("a", 1, "first", "cuda");
  v1::RunningRank& running = *registration.add_running();
  running.set_job_id("j");
  running.set_attempt(1);
  running.set_slot("cuda:0");
  Connect(registration);
  EXPECT_THAT(IdsSent(), ElementsAre(Id('a')));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(job("j").nccl_fingerprint(), "6836cf13");
}

TEST_F(CoordinatorDevices, RankAlone_NeedsNoId) {
  ConnectDevices("a", 1);
  Submit("j", 1);
  PrepareAll("j");
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(job("j").nccl_fingerprint(), IsEmpty());
}

TEST_F(CoordinatorDevices, RanksOnCpu_HaveNoId) {
  Connect("a", 2);
  nccl_id = "whatever";
  Submit("j", 2);
  PrepareAll("j");
  ASSERT_THAT(Sent(To::kStartRanks), SizeIs(1));
  EXPECT_THAT(Sent(To::kStartRanks)[0].second.start_ranks().start().nccl_unique_id(), IsEmpty());
}

TEST_F(CoordinatorDevices, ProgramOnDevices_SeesToItsIdItself) {
  ConnectDevices("a", 2);
  spec.mutable_command()->add_argv("train");
  Submit("j", 2);
  PrepareAll("j");
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
}

}  // namespace
}  // namespace tandem::core
