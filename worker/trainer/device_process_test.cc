// Training on a device, on real trainer processes. The device is the stand-in, which computes with the
// CPU's kernels: a job there has to end with the same bits as on the CPU, after every step.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/contract_jobs.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const AttemptOptions kOnDevice = {.kind = "standin"};

class OnDevice : public ::testing::Test {
 protected:
  // As an agent does it.
  OnDevice() { setenv("STANDIN_EQUAL_BITS", "1", 1); }
  ~OnDevice() override { unsetenv("TANDEM_STANDIN_COLLECTIVES"); }

  static TracedRun Traced(const v1::JobSpec& spec, uint32_t world_size) {
    return TrainTraced(spec, world_size, STAND_IN_TRAINER, kOnDevice);
  }
  static std::vector<RankRecord> Run(const v1::JobSpec& spec, uint32_t world_size) {
    return RunJob(STAND_IN_TRAINER, spec, world_size, kOnDevice);
  }
  // What a single rank says that cannot train.
  static RankRecord Refusal(const v1::JobSpec& spec, const std::string& kind = "standin") {
    TestTrainer trainer(STAND_IN_TRAINER, PrepareFor(spec, 0, 1, kind));
    const RankRecord record = Record(trainer);
    EXPECT_TRUE(record.failure) << record.output;
    return record;
  }
};

class EveryModelOnDevice : public OnDevice, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryModelOnDevice, OneRank_SameBitsAsOnTheCpuAfterEveryStep) {
  const v1::JobSpec spec = ContractJobs().at(GetParam())();
  ExpectSameBits(Traced(spec, 1), TrainTraced(spec, 1));
}

TEST_P(EveryModelOnDevice, TwoAndThreeRanks_SameBitsAsOnTheCpuAfterEveryStep) {
  v1::JobSpec spec = ContractJobs().at(GetParam())();
  spec.set_logical_ranks(4);
  const TracedRun on_cpu = TrainTraced(spec, 1);
  for (const uint32_t world_size : {2, 3}) {
    SCOPED_TRACE(absl::StrCat("world size ", world_size));
    ExpectSameBits(Traced(spec, world_size), on_cpu);
  }
}

std::vector<std::string> NamesOfJobs() {
  std::vector<std::string> names;
  for (const auto& [name, job] : ContractJobs()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Jobs, EveryModelOnDevice, ::testing::ValuesIn(NamesOfJobs()),
                         [](const auto& info) { return info.param; });

TEST_F(OnDevice, Evaluation_SameAsOnTheCpu) {
  const RankRecord on_device = Run(SmallJob(), 1)[0];
  const RankRecord on_cpu = RunJob(TRAINER, SmallJob(), 1)[0];
  EXPECT_FALSE(on_device.failure) << on_device.failure->message();
  EXPECT_EQ(on_device.evaluations, on_cpu.evaluations);
  EXPECT_EQ(on_device.digest, on_cpu.digest);
}

// Two ranks: with more, the order is the library's own.
TEST_F(OnDevice, AllReduce_SameBitsAsOnTheCpu) {
  v1::JobSpec spec = SmallJob();
  spec.set_reduction(v1::REDUCTION_ALLREDUCE);
  for (const uint32_t world_size : {1, 2}) {
    ExpectSameBits(Traced(spec, world_size), TrainTraced(spec, world_size));
  }
}

TEST_F(OnDevice, Environment_IsPrinted) {
  const std::string output = Run(SmallJob(), 1)[0].output;
  EXPECT_THAT(output,
              AllOf(HasSubstr("standin:0, Stand-in, main memory"),
                    HasSubstr("standin 1.0, driver 1.0"), HasSubstr("STANDIN_EQUAL_BITS=1")));
}

// The control of Environment_IsPrinted, and of every test here: nothing of it is the CPU's.
TEST_F(OnDevice, EnvironmentWithoutWhatEqualBitsNeed_IsRefused) {
  unsetenv("STANDIN_EQUAL_BITS");
  const RankRecord record = Refusal(SmallJob());
  EXPECT_THAT(record.failure->message(),
              AllOf(StartsWith("slot standin:0: "), HasSubstr("STANDIN_EQUAL_BITS=1")));
}

TEST_F(OnDevice, KindThatThisBuildLacks_IsRefusedByName) {
  const RankRecord record = Refusal(SmallJob(), "abacus");
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(record.failure->message(),
              AllOf(StartsWith("slot abacus:0: "), HasSubstr("'abacus'")));
}

class SavedOnDevice : public OnDevice {
 protected:
  v1::JobSpec Job() const {
    v1::JobSpec spec = SmallJob();
    spec.clear_epochs();
    spec.set_steps(kSteps);
    spec.mutable_checkpoint()->set_dir(folder_.path());
    spec.mutable_checkpoint()->set_every_steps(4);
    spec::FillDefaults(&spec);
    return spec;
  }
  v1::JobSpec Resumed() const {
    v1::JobSpec spec = Job();
    spec.set_resume_from(folder_.path());
    return spec;
  }
  void DieAt(const std::string& place, uint32_t world_size) const {
    setenv("TANDEM_DIE_AT", place.c_str(), 1);
    RunJob(DYING_TRAINER, Job(), world_size, kOnDevice);
    unsetenv("TANDEM_DIE_AT");
  }

  static constexpr uint64_t kSteps = 14;
  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-device");
};

TEST_F(SavedOnDevice, CutOffAndResumedOnAnotherWorldSize_SameBitsAsOnTheCpu) {
  const RankRecord on_cpu = RunJob(TRAINER, Job(), 1)[0];
  for (const uint32_t world_size : {1, 3}) {
    std::filesystem::remove_all(folder_.path());
    DieAt("PHASE_BACKWARD:9", 4 - world_size);
    const RankRecord resumed = Run(Resumed(), world_size)[0];
    EXPECT_FALSE(resumed.failure) << resumed.failure->message();
    EXPECT_EQ(resumed.steps_done, 8u);
    EXPECT_EQ(resumed.digest, on_cpu.digest);
  }
}

TEST_F(SavedOnDevice, CheckpointOfTheCpu_IsRefusedByItsDevice) {
  RunJob(TRAINER, Job(), 1);
  const RankRecord record = Refusal(Resumed());
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(record.failure->message(),
              AllOf(HasSubstr("device: the checkpoint has "), HasSubstr("Stand-in, main memory")));
}

TEST_F(OnDevice, RankThatDies_IsLostToTheOthers) {
  v1::JobSpec spec = SmallJob();
  spec.clear_epochs();
  spec.set_steps(1'000'000);
  std::vector<std::unique_ptr<TestTrainer>> ranks;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(
        std::make_unique<TestTrainer>(STAND_IN_TRAINER, PrepareFor(spec, rank, 3, "standin")));
  }
  const v1::Prepared of_rank_zero = ranks[0]->Await().prepared();
  for (const auto& rank : ranks) rank->Start(of_rank_zero);
  while (ranks[0]->position().step < 3) {
    ASSERT_TRUE(ranks[0]->Await().has_progress()) << ranks[0]->Output();
  }
  ranks[1]->Kill();
  for (const uint32_t survivor : {0, 2}) {
    const RankRecord record = Record(*ranks[survivor]);
    ASSERT_TRUE(record.failure) << record.output;
    EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_PEER_LOST) << record.failure->message();
    EXPECT_EQ(record.exit_code, 1);
  }
}

TEST_F(OnDevice, LibraryThatConnectsDevicesIsMissing_IsAnErrorOfPreparing) {
  setenv("TANDEM_STANDIN_COLLECTIVES", "/no/such/libnccl.so.2", 1);
  TestTrainer trainer(STAND_IN_TRAINER, PrepareFor(SmallJob(), 1, 2, "standin"));
  const RankRecord record = Record(trainer);
  ASSERT_TRUE(record.failure) << record.output;
  EXPECT_THAT(record.failure->message(), HasSubstr("/no/such/libnccl.so.2"));
}

// The id is for the ranks of the attempt alone.
TEST_F(OnDevice, UniqueId_IsMintedByRankZeroAndNotPrinted) {
  TestTrainer first(STAND_IN_TRAINER, PrepareFor(SmallJob(), 0, 2, "standin"));
  TestTrainer second(STAND_IN_TRAINER, PrepareFor(SmallJob(), 1, 2, "standin"));
  const std::string id = first.Await().prepared().nccl_unique_id();
  EXPECT_EQ(id.size(), 128u);
  EXPECT_EQ(second.Await().prepared().nccl_unique_id(), "");
  EXPECT_THAT(first.Output(), Not(HasSubstr(id.substr(0, 16))));
}

// The whole way with the real library, as far as it goes: it mints an id for the ranks, and then finds
// no driver for what they train on. A rank that is slower than rank 0 may find no more than that this has gone.
TEST_F(OnDevice, RealLibraryWithoutADriver_RanksEndInItsWords) {
  if (std::string(REAL_NCCL).empty()) GTEST_SKIP() << "there was no libnccl.so.2 to be found";
  if (access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "there is a driver";
  setenv("TANDEM_STANDIN_COLLECTIVES", REAL_NCCL, 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("NCCL_RAS_ENABLE", "0", 1);
  const absl::Time begin = absl::Now();
  const std::vector<RankRecord> ranks = Run(SmallJob(), 2);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
  for (const RankRecord& rank : ranks) {
    ASSERT_TRUE(rank.failure) << rank.output;
    const bool lost_rank_0 = rank.failure->code() == v1::CAUSE_CODE_PEER_LOST;
    if (&rank == &ranks.front() || !lost_rank_0) {
      EXPECT_THAT(rank.failure->message(), HasSubstr("NCCL: "));
    }
    EXPECT_EQ(rank.exit_code, 1);
  }
}

}  // namespace
}  // namespace tandem::trainer
