// `export` and `--resume-from`: checkpoints that are named by a path or by a job.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/testing/fake_coordinator.h"
#include "client/testing/process_fixture.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/safetensors/safetensors_file.h"
#include "tandem/v1/client.pb.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointCommandsTest : public ProcessTest {
 protected:
  CheckpointCommandsTest() {
    coordinator_ = fake_.address();
    v1::CheckpointManifest manifest;
    manifest.set_step(120);
    manifest.set_parameter_digest("d1g35t");
    manifest.add_parameters("fc.weight");
    manifest.add_buffers("bn.mean");
    const auto written = checkpoints_.Write(120, [&](int fd) {
      return checkpoint::WriteCheckpoint(fd, manifest,
                                         {{"fc.weight", "F32", {1, 2}, "12345678"},
                                          {"bn.mean", "F16", {1}, "ab"},
                                          {"optimizer.fc.weight.step", "I64", {}, "87654321"}});
    });
    EXPECT_TRUE(written.ok()) << written;
  }

  // The coordinator knows one job, whose newest checkpoint is `path`.
  void KnowJob(const std::string& path) {
    v1::Job job = MakeJob("digits-1", v1::JOB_STATE_SUCCEEDED);
    job.mutable_spec()->mutable_checkpoint()->set_dir("/checkpoints");
    job.add_ranks()->set_worker("node-7");
    if (!path.empty()) job.mutable_checkpoint()->set_path(path);
    fake_.jobs = {job};
  }

  // `line` is refused with a line that says `what`.
  void ExpectRefusal(const std::string& line, const std::string& what) {
    const Result result = Tandem(line);
    EXPECT_EQ(result.code, 2) << line << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("tandem: "));
    EXPECT_THAT(result.err, HasSubstr(what)) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

  // What the submission that `options` belong to asked to go on from.
  std::string ResumesFrom(const std::string& options) {
    const Result result = Tandem("submit " + spec_file_ + " " + options);
    EXPECT_EQ(result.code, 0) << result.err;
    return fake_.submitted().empty() ? "nothing" : fake_.submitted().back().spec().resume_from();
  }

  FakeCoordinator fake_;
  checkpoint::CheckpointFolder checkpoints_{folder_ + "/checkpoints/digits-1"};
  const std::string file_ = checkpoints_.FileOf(120);
  const std::string target_ = folder_ + "/model.safetensors";
};

TEST_F(CheckpointCommandsTest, Export_OfAFile_NeedsNoCoordinatorAndSaysWhatItWrote) {
  coordinator_ = nobody_.address();
  const Result result = Tandem("export " + file_ + " --to " + target_);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, target_ +
                            "\n  step        120\n  tensors     2\n  parameters  2\n"
                            "  digest      d1g35t\n");
  const auto model = safetensors::SafetensorsFile::Open(target_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->tensors().size(), 2u);
  EXPECT_NE(model->Find("fc.weight"), nullptr);
  EXPECT_NE(model->Find("bn.mean"), nullptr);
}

TEST_F(CheckpointCommandsTest, Export_OfAJob_TakesItsCheckpoint) {
  KnowJob(file_);
  EXPECT_EQ(Tandem("export dig --to " + target_).code, 0);
  EXPECT_TRUE(safetensors::SafetensorsFile::Open(target_).ok());
}

TEST_F(CheckpointCommandsTest, Export_OfAJobWhoseFileIsGone_TakesTheNewestThatIsThere) {
  KnowJob(checkpoints_.FileOf(100));
  EXPECT_EQ(Tandem("export dig --to " + target_).code, 0);
  EXPECT_TRUE(safetensors::SafetensorsFile::Open(target_).ok());
}

TEST_F(CheckpointCommandsTest, Export_OfAJobWhoseFileIsDamaged_TakesTheOneBeforeAndNamesIt) {
  std::ofstream(checkpoints_.FileOf(140)) << "torn";
  KnowJob(checkpoints_.FileOf(140));
  const Result result = Tandem("export dig --to " + target_);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("step        120"));
  EXPECT_THAT(result.err, HasSubstr("skipped a newer checkpoint: " + checkpoints_.FileOf(140)));
}

TEST_F(CheckpointCommandsTest, Export_OfAJobThatHasNoneWhole_NamesTheFiles) {
  std::ofstream(file_) << "torn";
  KnowJob(file_);
  ExpectRefusal("export dig --to " + target_, file_);
}

TEST_F(CheckpointCommandsTest, Export_OfAFolder_TakesTheNewest) {
  EXPECT_EQ(Tandem("export " + folder_ + "/checkpoints --to " + target_).code, 0);
}

TEST_F(CheckpointCommandsTest, Export_Json_IsOneDocument) {
  const Result result = Tandem("-o json export " + file_ + " --to " + target_);
  v1::ExportedModel answer;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &answer).ok()) << result.out;
  EXPECT_EQ(answer.parameters(), 2u);
  EXPECT_EQ(answer.parameter_digest(), "d1g35t");
}

TEST_F(CheckpointCommandsTest, Export_FileIsThere_IsReplacedOnlyWithForce) {
  std::ofstream(target_) << "precious";
  ExpectRefusal("export " + file_ + " --to " + target_, "--force");
  EXPECT_EQ(Contents(target_), "precious");
  EXPECT_EQ(Tandem("export " + file_ + " --force --to " + target_).code, 0);
  EXPECT_TRUE(safetensors::SafetensorsFile::Open(target_).ok());
}

TEST_F(CheckpointCommandsTest, Export_ToWhatIsNoPlainFile_IsRefusedEvenWithForce) {
  std::ofstream(folder_ + "/precious") << "precious";
  std::filesystem::create_symlink("precious", folder_ + "/link");
  ExpectRefusal("export " + file_ + " --force --to " + folder_ + "/link", "not a plain file");
  EXPECT_EQ(Contents(folder_ + "/link"), "precious");
  ExpectRefusal("export " + file_ + " --force --to /dev/null", "not a plain file");
}

TEST_F(CheckpointCommandsTest, Export_WithoutTo_IsRefused) {
  ExpectRefusal("export " + file_, "--to");
}

TEST_F(CheckpointCommandsTest, Export_IntoAMissingFolder_NamesThePath) {
  ExpectRefusal("export " + file_ + " --to " + folder_ + "/no/model", folder_ + "/no/model");
}

TEST_F(CheckpointCommandsTest, Export_DamagedFile_SaysSo) {
  std::ofstream(file_, std::ios::app) << "x";
  ExpectRefusal("export " + file_ + " --to " + target_, file_);
}

TEST_F(CheckpointCommandsTest, Export_JobWithoutCheckpoint_NamesTheKey) {
  KnowJob("");
  ExpectRefusal("export digits-1 --to " + target_, "checkpoint.every_steps");
  fake_.jobs[0].mutable_spec()->clear_checkpoint();
  ExpectRefusal("export digits-1 --to " + target_, "checkpoint.dir");
}

TEST_F(CheckpointCommandsTest, Export_CheckpointOnAnotherMachine_SaysWhichWorkerHadIt) {
  KnowJob("/no/such/step-000000000120.safetensors");
  ExpectRefusal("export digits-1 --to " + target_, "node-7");
}

TEST_F(CheckpointCommandsTest, Export_NeitherFileNorJob_SaysBoth) {
  ExpectRefusal("export digits-1 --to " + target_,
                "there is no file digits-1, and there is no job 'digits-1'");
}

TEST_F(CheckpointCommandsTest, ResumeFrom_AFileOrFolder_IsSentAsItsAbsolutePath) {
  EXPECT_EQ(ResumesFrom("--resume-from " + file_), file_);
  EXPECT_EQ(ResumesFrom("--resume-from " + folder_ + "/checkpoints/../checkpoints"),
            folder_ + "/checkpoints");
  // On the workers it may be there.
  EXPECT_EQ(ResumesFrom("--resume-from /only/on/the/workers"), "/only/on/the/workers");
  EXPECT_EQ(ResumesFrom("--resume-from ./here"),
            (std::filesystem::current_path() / "here").string());
}

TEST_F(CheckpointCommandsTest, ResumeFrom_AJob_IsSentAsTheFolderOfItsCheckpoints) {
  KnowJob("/checkpoints/digits-1/step-000000000120.safetensors");
  EXPECT_EQ(ResumesFrom("--resume-from dig"), "/checkpoints/digits-1");
}

TEST_F(CheckpointCommandsTest, ResumeFrom_InsteadOfWhatTheFileSays) {
  v1::JobSpec spec = Spec();
  spec.set_resume_from("/old");
  WriteSpec(spec);
  EXPECT_EQ(ResumesFrom(""), "/old");
  EXPECT_EQ(ResumesFrom("--resume-from /new"), "/new");
}

TEST_F(CheckpointCommandsTest, ResumeFrom_JobWithoutCheckpoint_SubmitsNothing) {
  KnowJob("");
  ExpectRefusal("submit " + spec_file_ + " --resume-from digits-1", "has no checkpoint");
  ExpectRefusal("run " + spec_file_ + " --resume-from digits-1", "has no checkpoint");
  EXPECT_TRUE(fake_.submitted().empty());
}

TEST_F(CheckpointCommandsTest, ResumeFrom_Run_IsSent) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_SUCCEEDED)}}};
  EXPECT_EQ(Tandem("run " + spec_file_ + " --resume-from " + file_).code, 0);
  ASSERT_EQ(fake_.submitted().size(), 1u);
  EXPECT_EQ(fake_.submitted()[0].spec().resume_from(), file_);
}

TEST_F(CheckpointCommandsTest, Completion_OfExport_OffersJobsAndFiles) {
  std::ofstream(folder_ + "/completion") << Tandem("completion bash").out;
  KnowJob(file_);
  std::ofstream(folder_ + "/try") << "cd " << folder_ << "; source completion\n"
                                  << "COMP_WORDS=(" << TANDEM_BINARY
                                  << " export ''); COMP_CWORD=2; _tandem\n"
                                  << "echo ${COMPREPLY[*]}\n";
  const std::string bash =
      "TANDEM_COORDINATOR=" + coordinator_ + " bash " + folder_ + "/try >" + folder_ + "/tried";
  EXPECT_EQ(std::system(bash.c_str()), 0);
  EXPECT_THAT(Contents(folder_ + "/tried"), HasSubstr("digits-1"));
  EXPECT_THAT(Contents(folder_ + "/tried"), HasSubstr("checkpoints"));
}

}  // namespace
}  // namespace tandem::client
