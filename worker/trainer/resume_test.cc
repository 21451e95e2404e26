// A training that was cut off anywhere goes on from its last checkpoint, with another number of ranks,
// to the same bits.
#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint.h"
#include "common/checkpoint/find_checkpoint.h"
#include "common/file_descriptor.h"
#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/test_modules.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr uint64_t kSteps = 14;

class ResumeTest : public ::testing::Test {
 protected:
  // 6 steps an epoch, saved after every fourth and measured after every third.
  v1::JobSpec Job() const {
    v1::JobSpec spec = SmallJob();
    spec.clear_epochs();
    spec.mutable_evaluate()->set_every_steps(3);
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
  // Records of all ranks; of those that died, as far as they came.
  std::vector<RankRecord> RunAndDie(const v1::JobSpec& spec, const std::string& place,
                                    uint32_t world_size) const {
    setenv("TANDEM_DIE_AT", place.c_str(), 1);
    std::vector<RankRecord> records = RunJob(DYING_TRAINER, spec, world_size);
    unsetenv("TANDEM_DIE_AT");
    return records;
  }
  // What a rank says that is to go on from the folder with `spec`.
  std::string Refusal(const v1::JobSpec& spec) const {
    TestTrainer trainer(TRAINER, PrepareFor(spec, 0, 1));
    const RankRecord record = Record(trainer);
    EXPECT_TRUE(record.failure) << record.output;
    EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_BAD_INPUT);
    return record.failure->message();
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-resume");
};

void WriteWithoutOptimizer(const checkpoint::Checkpoint& checkpoint, const std::string& path) {
  std::vector<safetensors::TensorView> tensors;
  for (const safetensors::TensorInfo& tensor : checkpoint.file.tensors()) {
    if (absl::StartsWith(tensor.name, "optimizer.")) continue;
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, checkpoint.file.Bytes(tensor)});
  }
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(checkpoint::WriteCheckpoint(file.get(), checkpoint.manifest, tensors).ok());
}

// The samples after `step`.
std::vector<std::string> After(uint64_t step, const RankRecord& record) {
  return {record.samples.begin() + static_cast<int64_t>(step), record.samples.end()};
}

class CutOff : public ResumeTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(CutOff, InThisPhase_ResumedOnOtherWorldSize_SameBitsAsNeverStopped) {
  const RankRecord whole = RunJob(TRAINER, Job(), 2)[0];
  std::filesystem::remove_all(folder_.path());
  // After the checkpoint of step 8, in the second epoch.
  const auto dead = RunAndDie(Job(), absl::StrCat(GetParam(), ":9"), 3);
  EXPECT_EQ(dead[0].exit_code, -SIGKILL);
  const RankRecord resumed = RunJob(TRAINER, Resumed(), 4)[0];
  EXPECT_FALSE(resumed.failure) << resumed.failure->message();
  EXPECT_EQ(resumed.digest, whole.digest);
  EXPECT_EQ(resumed.samples, After(8, whole));
}

INSTANTIATE_TEST_SUITE_P(Phases, CutOff,
                         ::testing::Values("PHASE_DATA", "PHASE_FORWARD", "PHASE_BACKWARD",
                                           "PHASE_REDUCE", "PHASE_OPTIMIZER", "PHASE_EVALUATE"),
                         [](const auto& info) { return std::string(info.param); });

// Step 12 is to be saved, and is not: step 8 is what is left.
TEST_F(ResumeTest, CutOffBeforeACheckpointIsWhole_GoesOnFromTheOneBefore) {
  const RankRecord whole = RunJob(TRAINER, Job(), 1)[0];
  std::filesystem::remove_all(folder_.path());
  RunAndDie(Job(), "PHASE_CHECKPOINT:12", 2);
  const RankRecord resumed = RunJob(TRAINER, Resumed(), 3)[0];
  EXPECT_EQ(resumed.digest, whole.digest);
  EXPECT_EQ(resumed.samples, After(8, whole));
}

// The control of all of these: with a part of the state lost, it ends elsewhere.
TEST_F(ResumeTest, StateOfOptimizerLost_OtherBits) {
  const RankRecord whole = RunJob(TRAINER, Job(), 1)[0];
  std::filesystem::remove_all(folder_.path());
  RunAndDie(Job(), "PHASE_DATA:9", 1);
  const auto saved = checkpoint::FindCheckpoint(folder_.path());
  ASSERT_TRUE(saved.ok()) << saved.status();
  const std::string lossy = folder_.path() + "/lossy.safetensors";
  WriteWithoutOptimizer(saved->checkpoint, lossy);
  // The job's own checkpoints would come first.
  std::filesystem::remove_all(std::filesystem::path(saved->checkpoint.path).parent_path());
  v1::JobSpec spec = Job();
  spec.set_resume_from(lossy);
  const RankRecord resumed = RunJob(TRAINER, spec, 1)[0];
  EXPECT_FALSE(resumed.failure) << resumed.failure->message();
  EXPECT_NE(resumed.digest, whole.digest);
}

// Of a finite loss at a learning rate beyond all bounds.
TEST_F(ResumeTest, ParametersThatAreNotFinite_AreNeitherSavedNorASuccess) {
  v1::JobSpec spec = Job();
  spec.mutable_data()->mutable_csv()->set_scale(1000);
  spec.mutable_optimizer()->mutable_sgd()->set_lr(3e38);
  spec.set_steps(1);
  spec::FillDefaults(&spec);
  const RankRecord record = RunJob(TRAINER, spec, 2)[0];
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_BAD_INPUT) << "it would be the same again";
  EXPECT_THAT(record.failure->message(), HasSubstr("is not finite after step 1"));
  EXPECT_THAT(checkpoint::FindCheckpoint(folder_.path()).status().code(),
              absl::StatusCode::kNotFound);
}

TEST_F(ResumeTest, SavedAtTheEnd_HasNothingLeftAndTheSameDigest) {
  const RankRecord whole = RunJob(TRAINER, Job(), 2)[0];
  const RankRecord again = RunJob(TRAINER, Resumed(), 1)[0];
  EXPECT_FALSE(again.failure) << again.failure->message();
  EXPECT_EQ(again.digest, whole.digest);
  EXPECT_THAT(again.samples, IsEmpty());
}

TEST_F(ResumeTest, Case9_SixteenSamplesInBatchesOfFour_GoesOnWithTheNextOnAnotherWorldSize) {
  std::string lines;
  for (int i = 0; i < 16; ++i) absl::StrAppend(&lines, i, ",", i % 3, "\n");
  v1::JobSpec spec = Job();
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("sixteen.csv", lines));
  spec.mutable_data()->set_shuffle(false);
  spec.clear_evaluate();
  spec.set_global_batch_size(4);
  spec.mutable_checkpoint()->set_every_steps(2);
  spec.set_steps(4);
  RunAndDie(spec, "PHASE_BACKWARD:2", 2);
  spec.set_resume_from(folder_.path());
  const TracedRun resumed = TrainTraced(spec, 1);
  ASSERT_EQ(resumed.samples.size(), 2u);
  EXPECT_THAT(SamplesOf(resumed, 1), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(SamplesOf(resumed, 2), ElementsAre(12, 13, 14, 15));
}

TEST_F(ResumeTest, LongerJob_GoesOnAfterTheEnd) {
  v1::JobSpec longer = Job();
  longer.set_steps(kSteps + 5);
  const RankRecord whole = RunJob(TRAINER, longer, 1)[0];
  std::filesystem::remove_all(folder_.path());
  RunJob(TRAINER, Job(), 2);
  longer.set_resume_from(folder_.path());
  const RankRecord resumed = RunJob(TRAINER, longer, 4)[0];
  EXPECT_EQ(resumed.digest, whole.digest);
  EXPECT_EQ(resumed.samples, After(kSteps, whole));
}

TEST_F(ResumeTest, Progress_NamesTheNewestCheckpoint) {
  const RankRecord record = RunJob(TRAINER, Job(), 2)[0];
  v1::CheckpointFile newest;
  for (const v1::RankProgress& message : record.messages) {
    if (message.has_checkpoint()) newest = message.checkpoint();
  }
  EXPECT_EQ(newest.step(), kSteps);
  EXPECT_TRUE(std::filesystem::exists(newest.path())) << newest.path();
}

TEST_F(ResumeTest, OtherJob_RefusedWithTheKey) {
  RunJob(TRAINER, Job(), 1);
  v1::JobSpec other = Resumed();
  other.set_logical_ranks(8);
  EXPECT_THAT(Refusal(other), HasSubstr("logical_ranks"));
  other = Resumed();
  other.set_threads_per_rank(2);
  EXPECT_THAT(Refusal(other), HasSubstr("threads_per_rank"));
  other = Resumed();
  other.set_seed(6);
  EXPECT_THAT(Refusal(other), HasSubstr("seed"));
  other = Resumed();
  other.mutable_data()->mutable_csv()->set_path(
      WriteTestFile("other.csv",
                    "1,2,3,4,5,0\n1,2,3,4,5,1\n5,4,3,2,1,2\n1,1,1,1,1,0\n"
                    "1,2,3,4,5,0\n1,2,3,4,5,1\n5,4,3,2,1,2\n1,1,1,1,1,0\n"));
  EXPECT_THAT(Refusal(other), HasSubstr("data"));
  other = Resumed();
  other.mutable_model()->mutable_mlp()->set_hidden(0, 34);
  EXPECT_THAT(Refusal(other), HasSubstr("model.mlp.hidden"));
}

TEST_F(ResumeTest, FolderThatCannotBeMade_RefusedBeforeTheTraining) {
  v1::JobSpec spec = Job();
  spec.mutable_checkpoint()->set_dir("/dev/null");
  EXPECT_THAT(Refusal(spec), StartsWith("checkpoint.dir: "));
}

TEST_F(ResumeTest, NothingThere_RefusedWithTheKey) {
  EXPECT_THAT(Refusal(Resumed()), StartsWith("resume_from: "));
}

TEST_F(ResumeTest, OperatorWithoutDeterministicKernel_FailsTheJobAndIsNamed) {
  v1::JobSpec spec = Job();
  const std::string path = WriteTestFile("put.pt", "");
  SaveNondeterministicModule(path);
  spec.mutable_model()->mutable_torchscript()->set_path(path);
  const std::string message = Refusal(spec);
  EXPECT_THAT(message, HasSubstr("max_unpooling2d"));
  EXPECT_THAT(message, HasSubstr("deterministic"));
}

}  // namespace
}  // namespace tandem::trainer
