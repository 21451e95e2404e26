// Section 9 of the numerical contract, on real trainer processes: after every step the same bytes of
// parameters, buffers and optimizer state at every world size.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/job.pb.h"
#include "worker/trainer/contract_jobs.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  v1::JobSpec job() const { return ContractJobs().at(GetParam())(); }
  void ExpectSameBitsAt(std::initializer_list<uint32_t> world_sizes) const {
    const TracedRun alone = TrainTraced(job(), 1);
    for (const uint32_t world_size : world_sizes) {
      SCOPED_TRACE(absl::StrCat("world size ", world_size));
      ExpectSameBits(TrainTraced(job(), world_size), alone);
    }
  }
};

#ifdef TANDEM_LONG_TESTS

TEST_P(EveryModel, EveryWorldSize_SameBitsAfterEveryStep) { ExpectSameBitsAt({2, 4, 5, 6, 7}); }

#else

TEST_P(EveryModel, OneThreeAndEightRanks_SameBitsAfterEveryStep) { ExpectSameBitsAt({3, 8}); }

TEST(MaskedTokens, BatchWithoutATarget_IsAStepThatMovesNothing) {
  const TracedRun run = TrainTraced(ContractJobs().at("MaskedTokens")(), 2);
  v1::StepSample third;
  ASSERT_TRUE(third.ParseFromString(run.samples[2]));
  EXPECT_EQ(third.count(), 0u);
  EXPECT_EQ(run.tensors[2], run.tensors[1]);
  EXPECT_NE(run.tensors[1], run.tensors[0]);
}

// CASES 31: only the last sample, of the last logical rank, overflows; nobody steps.
TEST(LossScale, OverflowOnOneRankOnly_EveryRankSkipsTheStep) {
  v1::JobSpec spec = ContractJobs().at("Float16")();
  std::string lines;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&lines, i == 7 ? "60000" : "0.01", ",1,1\n");
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("overflow.csv", lines));
  spec.mutable_data()->set_shuffle(false);
  spec.set_global_batch_size(8);
  spec.mutable_model()->mutable_mlp()->set_dropout(0);
  spec.set_steps(1);
  const TracedRun alone = TrainTraced(spec, 1);
  ExpectSameBits(TrainTraced(spec, 2), alone);
  v1::JobSpec other = spec;  // the control: without the overflow there is a step
  other.mutable_data()->mutable_csv()->set_scale(1e-6);
  EXPECT_NE(TrainTraced(other, 1).digest, alone.digest);
  other = spec;
  other.mutable_optimizer()->mutable_adamw()->set_lr(0.5);
  EXPECT_EQ(TrainTraced(other, 1).digest, alone.digest) << "it has made a step";
}

// A module that counts its forwards in a buffer: measuring must not be among them.
TEST(Evaluation, OfAModelThatChangesItsBuffers_LeavesNoTrace) {
  v1::JobSpec spec = ContractJobs().at("ParametersUnusedOrRare")();
  const std::string path = WriteTestFile("counting.pt", "");
  SaveCountingModule(path);
  spec.mutable_model()->mutable_torchscript()->set_path(path);
  spec.mutable_evaluate()->set_holdout(0.3);
  spec.mutable_evaluate()->set_every_steps(3);
  ExpectSameBits(TrainTraced(spec, 3), TrainTraced(spec, 1));
}

#endif

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, job] : ContractJobs()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Contract, EveryModel, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tandem::trainer
