#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The answer of a single rank to a specification that it cannot train.
RankRecord Refusal(const v1::JobSpec& spec) {
  TestTrainer trainer(TRAINER, PrepareFor(spec, 0, 1));
  return Record(trainer);
}

void ExpectBadInput(const v1::JobSpec& spec, const std::string& beginning) {
  const RankRecord record = Refusal(spec);
  ASSERT_TRUE(record.failure) << record.output;
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(record.failure->message(), StartsWith(beginning));
  EXPECT_EQ(record.failure->message().find('\n'), std::string::npos);
  EXPECT_THAT(record.output, HasSubstr(record.failure->message()));
  EXPECT_EQ(record.exit_code, 1);
}

v1::JobSpec JobOn(const std::string& csv) {
  v1::JobSpec spec = SmallJob();
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("bad.csv", csv));
  return spec;
}

void ExpectBadLine(const std::string& csv, int line) {
  const v1::JobSpec spec = JobOn(csv);
  ExpectBadInput(spec, absl::StrCat(spec.data().csv().path(), ":", line, ": "));
}

TEST(BadCsv, RaggedLine_IsNamed) { ExpectBadLine("1,2,0\n1,2,1\n1,2\n", 3); }
TEST(BadCsv, NaN_IsNamed) { ExpectBadLine("1,2,0\nnan,2,1\n", 2); }
TEST(BadCsv, Infinity_IsNamed) { ExpectBadLine("1,inf,0\n", 1); }
TEST(BadCsv, Word_IsNamed) { ExpectBadLine("1,2,0\n1,two,0\n", 2); }
TEST(BadCsv, LabelOutOfRange_IsNamed) { ExpectBadLine("1,2,0\n1,2,3\n", 2); }
TEST(BadCsv, FractionalLabel_IsNamed) { ExpectBadLine("1,2,0.5\n", 1); }
TEST(BadCsv, EmptyLine_IsNamed) { ExpectBadLine("1,2,0\n\n1,2,0\n", 2); }

TEST(BadCsv, EmptyFile_IsNamed) {
  const v1::JobSpec spec = JobOn("");
  ExpectBadInput(spec, spec.data().csv().path() + ": ");
}

TEST(BadCsv, MissingFile_IsNamed) {
  v1::JobSpec spec = SmallJob();
  spec.mutable_data()->mutable_csv()->set_path("/no/such/file.csv");
  ExpectBadInput(spec, "/no/such/file.csv: ");
}

TEST(BadSpec, NothingToTrainOn_NamesTheKey) {
  ExpectBadInput(JobOn("1,2,0\n"), "evaluate.holdout: ");
  v1::JobSpec spec = SmallJob();
  spec.set_global_batch_size(64);
  spec.mutable_data()->set_drop_last(true);
  ExpectBadInput(spec, "data.drop_last: ");
}

TEST(BadSpec, BrokenRule_NamesTheKey) {
  v1::JobSpec spec = SmallJob();
  spec.set_global_batch_size(0);
  ExpectBadInput(spec, "global_batch_size");
}

// CASES F3: a NaN carries bits that depend on the order of operands, so none is ever compared.
TEST(Training, LossThatIsNotFinite_StopsEveryRankAndNamesTheStep) {
  v1::JobSpec spec = SmallJob();
  spec.mutable_optimizer()->mutable_adamw()->set_lr(1e30);
  for (const RankRecord& rank : RunJob(TRAINER, spec, 2)) {
    ASSERT_TRUE(rank.failure);
    EXPECT_EQ(rank.failure->code(), v1::CAUSE_CODE_BAD_INPUT) << "it would be the same again";
    EXPECT_THAT(rank.failure->message(), HasSubstr("step 2"));
    EXPECT_EQ(rank.exit_code, 1);
  }
}

// A job of two ranks that trains for ever, past its first step.
class EndlessJobTest : public ::testing::Test {
 protected:
  EndlessJobTest() {
    spec_.clear_epochs();
    spec_.set_steps(1000000000);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      ranks_.push_back(std::make_unique<TestTrainer>(TRAINER, PrepareFor(spec_, rank, 2)));
    }
    const uint32_t port = ranks_[0]->Await().prepared().master_port();
    ranks_[1]->Await();
    for (auto& rank : ranks_) rank->Start(port);
    EXPECT_TRUE(ranks_[0]->Await().has_progress());
  }

  v1::JobSpec spec_ = SmallJob();
  std::vector<std::unique_ptr<TestTrainer>> ranks_;
};

TEST_F(EndlessJobTest, AgentGone_TrainerExits) {
  ranks_[0]->CloseAgentEnd();
  EXPECT_EQ(ranks_[0]->AwaitExit(), 1);
}

TEST_F(EndlessJobTest, PeerKilled_SurvivorReportsIt) {
  ranks_[1]->Kill();
  const RankRecord survivor = Record(*ranks_[0]);
  ASSERT_TRUE(survivor.failure);
  EXPECT_EQ(survivor.failure->code(), v1::CAUSE_CODE_PEER_LOST);
  EXPECT_THAT(survivor.failure->message(), HasSubstr("rank 1"));
  EXPECT_EQ(survivor.exit_code, 1);
}

TEST_F(EndlessJobTest, KilledTrainer_LeavesItsPositionOnThePage) {
  ranks_[0]->Kill();
  ranks_[0]->AwaitExit();
  EXPECT_GE(ranks_[0]->position().step, 1u);
  EXPECT_NE(ranks_[0]->position().phase, v1::PHASE_UNSPECIFIED);
}

TEST(Agent, GoneBeforeStart_TrainerExits) {
  TestTrainer trainer(TRAINER, PrepareFor(SmallJob(), 0, 2));
  ASSERT_TRUE(trainer.Await().has_prepared());
  trainer.CloseAgentEnd();
  EXPECT_EQ(trainer.AwaitExit(), 1);
}

TEST(CommandLine, WithoutAgent_SaysWhoStartsIt) {
  const Exited exited = RunProgram(TRAINER, {});
  EXPECT_EQ(exited.code, 2);
  EXPECT_THAT(exited.output, HasSubstr("tandem-worker"));
  EXPECT_EQ(RunProgram(TRAINER, {"--agent-fd", "x"}).code, 2);
}

TEST(CommandLine, Version_NamesTheLibraries) {
  const Exited exited = RunProgram(TRAINER, {"--version"});
  EXPECT_EQ(exited.code, 0);
  EXPECT_THAT(exited.output, HasSubstr("LibTorch 2."));
}

}  // namespace
}  // namespace tandem::trainer
