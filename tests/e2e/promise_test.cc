// The promise, on the real binaries: the number of workers changes no bit of the result.
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

class PromiseTest : public ::testing::Test {
 protected:
  PromiseTest() {
    cluster_.StartCoordinator();
    for (int i = 0; i < 4; ++i) cluster_.StartWorker(1);
  }

  v1::Job Train(const std::string& lines) {
    const v1::Job job = cluster_.WaitUntilEnded(cluster_.Submit(DigitsSpec(lines)));
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
    EXPECT_THAT(job.parameter_digest(), SizeIs(64));
    return job;
  }
  // Losses as they were reported, bit for bit.
  std::vector<std::string> Losses(const v1::Job& job) {
    std::vector<std::string> all;
    for (const v1::StepSample& sample : cluster_.History(job.id())) {
      all.push_back(sample.SerializeAsString());
    }
    return all;
  }

  Cluster cluster_;
};

TEST_F(PromiseTest, OneToFourWorkers_DropoutAndShortBatch_SameDigestAndLosses) {
  const std::string lines = "epochs: 1\nlogical_ranks: 4\nglobal_batch_size: 50\n";
  const v1::Job one = Train(lines + "workers: 1");
  const std::vector<std::string> losses = Losses(one);
  EXPECT_THAT(losses, SizeIs(36));  // 1797 samples in batches of 50: the last one is short
  for (const char* workers : {"2", "3", "4"}) {
    const v1::Job other = Train(lines + "workers: " + workers);
    EXPECT_EQ(other.parameter_digest(), one.parameter_digest()) << workers << " workers";
    EXPECT_EQ(Losses(other), losses) << workers << " workers";
  }
}

TEST_F(PromiseTest, SameSpecTwice_SameDigest) {
  EXPECT_EQ(Train("workers: 2").parameter_digest(), Train("workers: 2").parameter_digest());
}

// Controls: what is part of the result does change it.
TEST_F(PromiseTest, OtherSeedOrOtherLogicalRanks_OtherDigest) {
  const std::string digest = Train("seed: 1").parameter_digest();
  EXPECT_NE(Train("seed: 2").parameter_digest(), digest);
  EXPECT_NE(Train("seed: 1\nlogical_ranks: 4").parameter_digest(), digest);
}

TEST_F(PromiseTest, DigitsExample_Evaluated_IsAccurate) {
  const CommandResult submitted =
      cluster_.Tandem({"submit", Source("examples/digits.yaml"), "--workers", "2"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const v1::Job job = cluster_.WaitUntilEnded(submitted.out.substr(0, submitted.out.find('\n')));
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  EXPECT_GE(job.evaluation().accuracy(), 0.95);
  EXPECT_EQ(job.evaluation().step(), job.total_steps());
}

TEST(RunLocal, OneAndTwoSlots_SameDigestInJson) {
  const TemporaryFolder temporary = *TemporaryFolder::Create("tandem-e2e");
  const std::string& folder = temporary.path();
  WriteFile(folder + "/run.yaml", DigitsSpec());
  std::vector<std::string> digests;
  for (const char* slots : {"1", "2"}) {
    Process run({{Binary("tandem"), "run", folder + "/run.yaml", "--local", slots, "--workers",
                  slots, "-o", "json"},
                 {},
                 folder});
    ASSERT_EQ(run.Wait(absl::Seconds(60)), 0) << run.Stderr();
    v1::Job job;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(run.Stdout(), &job).ok())
        << run.Stdout();
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
    digests.push_back(job.parameter_digest());
  }
  EXPECT_THAT(digests, Each(digests.front()));
  EXPECT_THAT(digests.front(), SizeIs(64));
}

}  // namespace
}  // namespace tandem::testing
