// Programs on the command line, with a coordinator that answers.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/testing/fake_coordinator.h"
#include "client/testing/process_fixture.h"

namespace tandem::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::LogLine Line(uint32_t rank, v1::LogStream stream, const std::string& text) {
  v1::LogLine line;
  line.set_attempt(1);
  line.set_rank(rank);
  line.set_stream(stream);
  line.set_text(text);
  return line;
}

class ProgramProcessTest : public ProcessTest {
 protected:
  ProgramProcessTest() {
    coordinator_ = fake_.address();
    fake_.logs = {Line(0, v1::LOG_STREAM_STDOUT, "hello from 0"),
                  Line(1, v1::LOG_STREAM_STDOUT, "hello from 1"),
                  Line(1, v1::LOG_STREAM_STDERR, "a warning")};
  }

  void JobEnds(v1::JobState state) { fake_.watches.push_back({{MakeJob("train-1", state)}}); }

  // The specification that the last job was submitted with.
  v1::JobSpec Submitted() const {
    const auto all = fake_.submitted();
    return all.empty() ? v1::JobSpec() : all.back().spec();
  }
  std::string Argv() const { return absl::StrJoin(Submitted().command().argv(), " "); }

  FakeCoordinator fake_;
};

TEST_F(ProgramProcessTest, Submit_OfAProgram_IsAJobThatRunsItHere) {
  const Result result =
      Tandem(absl::StrCat("submit --workers 2 --env A=1 --env B=2 --set command.stop_grace=9s ",
                          "--priority 3 -- python train.py --config config.yaml -o x"));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "digits-1\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Argv(), "python train.py --config config.yaml -o x");
  EXPECT_EQ(Submitted().name(), "train");
  EXPECT_EQ(Submitted().workers(), 2u);
  EXPECT_EQ(Submitted().priority(), 3);
  EXPECT_THAT(Submitted().command().env(), ElementsAre("A=1", "B=2"));
  EXPECT_EQ(Submitted().command().working_dir(), std::filesystem::current_path());
  EXPECT_EQ(Submitted().command().stop_grace().seconds(), 9);
}

TEST_F(ProgramProcessTest, Submit_WithTorchrunsOptions_IsAnElasticJob) {
  const Result result = Tandem(absl::StrCat(
      "submit --nnodes 1:3 --nproc_per_node=2 --rdzv-id nightly --max_restarts 7 --working-dir ",
      folder_, " --set checkpoint.dir=", folder_, " -- train.py"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Argv(), "python3 -u train.py");
  EXPECT_EQ(Submitted().name(), "nightly");
  EXPECT_EQ(Submitted().min_workers(), 2u);
  EXPECT_EQ(Submitted().workers(), 6u);
  EXPECT_EQ(Submitted().restart().max(), 7u);
  EXPECT_EQ(Submitted().command().working_dir(), folder_);
}

TEST_F(ProgramProcessTest, Run_ShowsWhatTheRanksPrint) {
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const Result result = Tandem("run -- ./train");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("[0] hello from 0\n[1] hello from 1\ntrain-1  SUCCEEDED\n"));
  EXPECT_THAT(result.err, HasSubstr("[1] a warning\n"));
}

TEST_F(ProgramProcessTest, Run_OfASpecificationWithACommand_ShowsItToo) {
  WriteText("name: x\ncommand: {argv: [./train]}\n");
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(Tandem("run " + spec_file_).out, StartsWith("[0] hello from 0\n"));
}

TEST_F(ProgramProcessTest, Run_Quiet_ShowsTheResultOnly) {
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const Result result = Tandem("run -q -- ./train");
  EXPECT_THAT(result.out, StartsWith("train-1  SUCCEEDED\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("warning")));
}

TEST_F(ProgramProcessTest, Run_Json_IsOneDocumentBesideWhatTheRanksPrint) {
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const Result result = Tandem("run -o json -- ./train");
  v1::Job job;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &job).ok()) << result.out;
  EXPECT_THAT(result.err, HasSubstr("[0] hello from 0\n"));
}

TEST_F(ProgramProcessTest, Run_JobFails_ExitsWith1AfterAllItPrinted) {
  JobEnds(v1::JOB_STATE_FAILED);
  const Result result = Tandem("run -- ./train");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, StartsWith("[0] hello from 0\n[1] hello from 1\ntrain-1  FAILED\n"));
}

TEST_F(ProgramProcessTest, Run_Interrupted_CancelsTheJob) {
  fake_.logs_wait_for_client = true;
  fake_.watches = {{{MakeJob("train-1", v1::JOB_STATE_RUNNING)}, grpc::Status::OK, true},
                   {{MakeJob("train-1", v1::JOB_STATE_CANCELLED)}, grpc::Status::OK, true}};
  const std::string log = folder_ + "/log";
  // The first interrupt cancels; the second one leaves, although there may be more to read.
  const Result result =
      Tandem(absl::StrCat("run -- ./train >", log, " 2>&1 & pid=$!; until grep -qs warning ", log,
                          "; do :; done; kill -INT $pid; until grep -qs 'Ctrl-C again' ", log,
                          "; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(fake_.cancelled(), ElementsAre("digits-1"));
}

TEST_F(ProgramProcessTest, LogDir_HasAFileForEachRankAndStream) {
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const Result result = Tandem("run --log-dir " + folder_ + "/logs -r 3 -t 0:1 -- ./train");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string logs = folder_ + "/logs/digits-1";
  EXPECT_EQ(Contents(logs + "/attempt_1/0/stdout.log"), "hello from 0\n");
  EXPECT_EQ(Contents(logs + "/attempt_1/1/stdout.log"), "hello from 1\n");
  EXPECT_EQ(Contents(logs + "/attempt_1/1/stderr.log"), "a warning\n");
  EXPECT_THAT(result.out, HasSubstr("[0] hello from 0\n"));
  EXPECT_THAT(result.out + result.err, Not(HasSubstr("[1]"))) << "it is redirected";
}

TEST_F(ProgramProcessTest, LogDir_ThatCannotBe_IsRefusedBeforeAnythingRuns) {
  const Result result = Tandem("run --log-dir " + spec_file_ + "/logs -- ./train");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, StartsWith("tandem: --log-dir "));
  EXPECT_TRUE(fake_.submitted().empty());
}

TEST_F(ProgramProcessTest, TorchrunsName_RunsItsCommandLineOnTheCoordinatorThatIsGiven) {
  const std::string torchrun = folder_ + "/tandem-torchrun";
  std::filesystem::create_symlink(program_, torchrun);
  program_ = torchrun;
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const Result result = Tandem("--nnodes 2 --nproc_per_node=2 --rdzv_backend=c10d train.py --x");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Argv(), "python3 -u train.py --x");
  EXPECT_EQ(Submitted().workers(), 4u);
  EXPECT_EQ(Submitted().restart().max(), 0u);
  EXPECT_THAT(result.out, StartsWith("[0] hello from 0\n"));
  EXPECT_THAT(result.err, StartsWith("note: no effect under Tandem: --rdzv-backend\n"));
}

TEST_F(ProgramProcessTest, Torchrun_WithoutACoordinator_RunsOnThisMachine) {
  RunACopy();
  for (const char* line : {"unset TANDEM_COORDINATOR; ./tandem torchrun --nproc-per-node 3 a.py",
                           "./tandem torchrun --standalone a.py",
                           "./tandem run --standalone --nproc-per-node 2 -- a.py"}) {
    const Result result = Tandem(absl::StrCat("version; cd ", folder_, "; ", line));
    EXPECT_THAT(result.err, HasSubstr("/tandemd")) << "it is not there: " << line;
    EXPECT_TRUE(fake_.submitted().empty());
  }
}

TEST_F(ProgramProcessTest, Mistakes_AreNamedInOneLine) {
  WriteProgram("train.py", "");
  const std::string script = folder_ + "/train.py";
  const std::pair<std::string, std::string> lines[] = {
      {"run", "SPEC is required, or -- and a program"},
      {"run --", "no program is named"},
      {"run " + script, "a program stands behind --, as in: tandem run --local 2 -- python3 "},
      {"submit python " + script, "a program stands behind --"},
      {"run " + spec_file_ + " -- ./train", "a specification, or a program behind --"},
      {"run " + spec_file_ + " --env A=1", "--env: goes with a program behind --"},
      {"run " + spec_file_ + " --nproc_per_node 2", "--nproc-per-node: goes with a program"},
      {"run --workers 2 --nproc-per-node 2 -- ./train", "--workers: --nproc-per-node"},
      {"run --env A -- ./train", "command.env[0]: "},
      {"run --name 'a b' -- ./train", "name: "},
      {"run --nnodes 1:2 -- ./train", "checkpoint: "},
      {"submit --standalone -- ./train", "--standalone: goes with tandem run"},
      {"submit --log-dir x -- ./train", "--log-dir: goes with tandem run"},
      {"run --local 2 --nproc-per-node 4 -- ./train", "workers: 4 do not fit on --local 2"},
      {"torchrun --nproc-per-node 2", "no script stands behind the options"},
      {"torchrun --nproc 2 a.py", "unknown option --nproc, did you mean --nproc-per-node?"},
  };
  for (const auto& [line, message] : lines) {
    const Result result = Tandem(line);
    EXPECT_EQ(result.code, 2) << line;
    EXPECT_THAT(result.err, HasSubstr(message)) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_TRUE(fake_.submitted().empty());
}

TEST_F(ProgramProcessTest, HelpAndCompletion_HaveOneSpellingOfEachOption) {
  const std::string help = Tandem("run --help").out;
  EXPECT_THAT(help, HasSubstr("--nproc-per-node"));
  EXPECT_THAT(help, Not(HasSubstr("_per_node")));
  EXPECT_THAT(help, Not(HasSubstr("rdzv-backend")));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Tandem(absl::StrCat("completion ", shell)).out;
    EXPECT_THAT(script, HasSubstr("max-restarts"));
    EXPECT_THAT(script, Not(HasSubstr("max_restarts")));
    EXPECT_THAT(script, HasSubstr("torchrun"));
  }
}

}  // namespace
}  // namespace tandem::client
