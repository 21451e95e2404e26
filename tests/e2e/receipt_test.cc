// What a job leaves behind to be compared with another, on the real binaries.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kLines[] =
    "epochs: 1\nlogical_ranks: 4\nglobal_batch_size: 50\nverify_every: 10\nworkers: ";

class ReceiptTest : public ::testing::Test {
 protected:
  ReceiptTest() {
    cluster_.StartCoordinator();
    for (int i = 0; i < 4; ++i) cluster_.StartWorker(1);
  }

  v1::Job Train(const std::string& lines) {
    v1::Job job = cluster_.WaitUntilEnded(cluster_.Submit(DigitsSpec(lines)));
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
    return job;
  }
  std::string Describe(const v1::Job& job) { return cluster_.Tandem({"describe", job.id()}).out; }
  // Steps at which the ranks compared their parameters.
  std::vector<uint64_t> ComparedAt(const v1::Job& job) {
    std::vector<uint64_t> steps;
    for (const v1::StepSample& sample : cluster_.History(job.id())) {
      if (!sample.parameter_digest().empty()) steps.push_back(sample.step());
    }
    return steps;
  }

  Cluster cluster_;
};

TEST_F(ReceiptTest, OneToFourWorkers_LeaveTheSameReceipt) {
  const v1::Job one = Train(kLines + std::string("1"));
  EXPECT_EQ(one.receipt().level(), v1::EQUIVALENCE_LEVEL_BITWISE);
  EXPECT_EQ(one.receipt().step(), 36u);
  EXPECT_EQ(one.receipt().parameter_step(), 36u);
  EXPECT_THAT(one.receipt().parameter_digest(), SizeIs(64));
  EXPECT_THAT(ComparedAt(one), ElementsAre(10, 20, 30, 36));
  for (const char* workers : {"2", "3", "4"}) {
    const v1::Job other = Train(std::string(kLines) + workers);
    EXPECT_EQ(other.receipt().SerializeAsString(), one.receipt().SerializeAsString()) << workers;
  }
}

TEST_F(ReceiptTest, Describe_ShowsLevelAndDigests) {
  const v1::Job job = Train(kLines + std::string("2"));
  const std::string text = Describe(job);
  EXPECT_THAT(text, HasSubstr("bitwise\n"));
  EXPECT_THAT(text, HasSubstr(absl::StrCat(absl::Hex(job.receipt().digest(), absl::kZeroPad16),
                                           " at step 36")));
  EXPECT_THAT(text, HasSubstr(job.receipt().parameter_digest().substr(0, 12)));
}

// Where a job ended in between leaves no trace in the one that went on from there.
TEST_F(ReceiptTest, JobThatWentOnFromTheEndOfAnother_IsBitEqualToAnUnbrokenOne) {
  const std::string checkpoint = absl::StrCat("\ncheckpoint: {dir: ", cluster_.folder(), "/saved}");
  const v1::Job half = Train(absl::StrCat(kLines, "2", checkpoint));
  const v1::Job went_on = Train(absl::StrCat(
      kLines, "3\nepochs: 2\nresume_from: ", cluster_.folder(), "/saved/", half.id(), checkpoint));
  const v1::Job unbroken = Train(absl::StrCat(kLines, "1\nepochs: 2"));
  EXPECT_EQ(went_on.receipt().SerializeAsString(), unbroken.receipt().SerializeAsString());
  EXPECT_THAT(ComparedAt(half), ElementsAre(10, 20, 30, 36));
  EXPECT_THAT(ComparedAt(unbroken), ElementsAre(10, 20, 30, 40, 50, 60, 70, 72));
  const CommandResult compared = cluster_.Tandem({"compare", went_on.id(), unbroken.id()});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("over 36 steps\n"));
}

// Controls: what is part of the training is part of the receipt.
TEST_F(ReceiptTest, OtherSeedOrOtherOrder_LeavesAnotherReceipt) {
  const v1::Job job = Train(kLines + std::string("2"));
  const v1::Job seed = Train(kLines + std::string("2\nseed: 7"));
  EXPECT_NE(seed.receipt().digest(), job.receipt().digest());
  const v1::Job order = Train(kLines + std::string("2\nunsafe: {order_by_rank: true}"));
  EXPECT_NE(order.receipt().digest(), job.receipt().digest());
  EXPECT_EQ(order.receipt().level(), v1::EQUIVALENCE_LEVEL_NONE);
  EXPECT_THAT(Describe(order), HasSubstr("none (unsafe.order_by_rank)\n"));
}

}  // namespace
}  // namespace tandem::testing
