// The program as scripts use it: arguments, exit codes, and what goes to which stream.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/testing/fake_coordinator.h"
#include "common/file_descriptor.h"
#include "common/spec/sample_spec.h"
#include "common/spec/yaml_reader.h"
#include "common/spec/yaml_writer.h"
#include "common/temporary_folder.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A port that nobody else can get: bound here, and at most half alive.
class DeadPort {
 public:
  explicit DeadPort(bool accepts_connections)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if (accepts_connections) listen(socket_.get(), 8);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }

  const std::string& address() const { return address_; }

 private:
  FileDescriptor socket_;
  std::string address_;
};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    spec_file_ = folder_ + "/job.yaml";
    WriteSpec(spec::SampleSpec());
  }

  void WriteSpec(const v1::JobSpec& spec) { WriteText(spec::WriteYaml(spec)); }
  void WriteText(const std::string& text) { std::ofstream(spec_file_) << text; }

  // `line` goes through the shell, after the program's name.
  Result Tandem(const std::string& line) {
    const std::string command =
        absl::StrCat("export TANDEM_COORDINATOR=", coordinator_, "; { ", TANDEM_BINARY, " ", line,
                     "\n} >", folder_, "/out 2>", folder_, "/err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(folder_ + "/out"),
            Contents(folder_ + "/err")};
  }

  DeadPort nobody_{false};
  std::string coordinator_ = nobody_.address();
  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = place_.path();
  std::string spec_file_;
};

TEST_F(ProcessTest, NobodyListens_ExitsWith3AndOneLineThatNamesTheAddress) {
  for (const char* line : {"list", "workers", "status x", "describe x", "wait x", "logs x",
                           "loss x", "cancel x", "list -o json"}) {
    const Result result = Tandem(line);
    EXPECT_EQ(result.code, 3) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_THAT(result.err, HasSubstr(nobody_.address())) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(Tandem("submit " + spec_file_).code, 3);
  EXPECT_EQ(Tandem("run " + spec_file_).code, 3);
}

TEST_F(ProcessTest, ListenerThatNeverAnswers_ExitsWith3Soon) {
  const DeadPort silent(true);
  coordinator_ = silent.address();
  const absl::Time before = absl::Now();
  EXPECT_EQ(Tandem("list").code, 3);
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
}

TEST_F(ProcessTest, WrongCommandLines_ExitWith2AndOneLine) {
  for (const std::string& line :
       {std::string(""), std::string("--foo"), std::string("frobnicate"), std::string("list --foo"),
        std::string("status"), std::string("-o xml list"),
        std::string("--coordinator nowhere list"), std::string("completion tcsh"),
        std::string("wait x --timeout soon"), "run " + spec_file_ + " --local 0",
        "run " + spec_file_ + " --local many", "run " + spec_file_ + " --workers -1",
        std::string("explain no.such.key"), std::string("submit /no/such/file.yaml"),
        "submit " + folder_, "submit " + spec_file_ + " --set nmae=x",
        "submit " + spec_file_ + " --set name"}) {
    const Result result = Tandem(line);
    EXPECT_EQ(result.code, 2) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_THAT(result.err, StartsWith("tandem: ")) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(ProcessTest, MoreWorkersThanLocalSlots_IsRefusedBeforeAnythingStarts) {
  const Result result = Tandem("run " + spec_file_ + " --local 2 --workers 4");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("workers: 4 do not fit on --local 2"));
}

TEST_F(ProcessTest, Help_SaysTheExitCodes) {
  const Result result = Tandem("--help");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("130  interrupted"));
  EXPECT_EQ(Tandem("run --help").code, 0);
}

TEST_F(ProcessTest, Check_PrintsTheSpecWithAllDefaults) {
  const Result result = Tandem("check " + spec_file_ + " --set optimizer.adamw.lr=0.5 --seed 9");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto spec = spec::ReadYaml(result.out, "out");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->optimizer().adamw().lr(), 0.5);
  EXPECT_EQ(spec->seed(), 9u);
  EXPECT_EQ(spec->logical_ranks(), 1u);
}

TEST_F(ProcessTest, Check_ReadsStandardInput) {
  const Result result = Tandem("check - -o json <" + spec_file_);
  ASSERT_EQ(result.code, 0) << result.err;
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &spec).ok());
  EXPECT_EQ(spec.name(), "digits");
}

TEST_F(ProcessTest, Check_MistakeInFile_ExitsWith2AndNamesTheLine) {
  WriteText("name: digits\nglobal_batch: 3\n");
  const Result result = Tandem("check " + spec_file_);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, absl::StrCat("tandem: ", spec_file_,
                                     ":2:1: global_batch: unknown key, did you mean "
                                     "global_batch_size?\n"));
}

TEST_F(ProcessTest, Explain_PrintsOneKeyOrAllOrJson) {
  EXPECT_THAT(Tandem("explain optimizer.adamw.lr").out, HasSubstr("greater than 0"));
  EXPECT_THAT(Tandem("explain").out, HasSubstr("evaluate.holdout"));
  EXPECT_THAT(Tandem("explain workers -o json").out, HasSubstr("\"key\": \"workers\""));
  EXPECT_THAT(Tandem("explain lr").err, HasSubstr("optimizer.adamw.lr or optimizer.sgd.lr?"));
}

TEST_F(ProcessTest, Explain_Markdown_IsDocsSpecMd) {
  EXPECT_EQ(Tandem("explain --markdown").out, Contents(TANDEM_SOURCE_DIR "/docs/spec.md"));
}

TEST_F(ProcessTest, Completion_OfBash_IsGoodShellAndCompletes) {
  const Result script = Tandem("completion bash");
  ASSERT_EQ(script.code, 0);
  std::ofstream(folder_ + "/completion") << script.out;
  std::ofstream(folder_ + "/try") << "source " << folder_ << "/completion\n"
                                  << "COMP_WORDS=(tandem -o json des); COMP_CWORD=3; _tandem\n"
                                  << "echo ${COMPREPLY[*]}\n"
                                  << "COMP_WORDS=(tandem loss --c); COMP_CWORD=2; _tandem\n"
                                  << "echo ${COMPREPLY[*]}\n";
  const std::string bash = "bash " + folder_ + "/try >" + folder_ + "/tried";
  EXPECT_EQ(std::system(bash.c_str()), 0);
  EXPECT_EQ(Contents(folder_ + "/tried"), "describe\n--csv --coordinator\n");
  EXPECT_EQ(std::system(("bash -n " + folder_ + "/completion").c_str()), 0);
}

TEST_F(ProcessTest, Completion_OfOtherShells_HasEveryCommand) {
  for (const char* shell : {"zsh", "fish"}) {
    const Result script = Tandem(absl::StrCat("completion ", shell));
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, HasSubstr("describe"));
  }
}

TEST_F(ProcessTest, ReaderThatLeaves_IsNoError) {
  const Result result = Tandem("explain | true");
  EXPECT_EQ(result.err, "");
}

TEST_F(ProcessTest, OutputThatCannotBeWritten_IsAnError) {
  const Result result = Tandem("version >/dev/full");
  EXPECT_EQ(result.code, 2);
}

// With a coordinator that answers.
class AnsweredProcessTest : public ProcessTest {
 protected:
  AnsweredProcessTest() { coordinator_ = fake_.address(); }

  static v1::Job Ended(v1::JobState state) {
    v1::Job job = MakeJob("digits-1", state);
    job.set_step(10);
    job.set_total_steps(10);
    job.set_loss(0.25);
    if (state == v1::JOB_STATE_FAILED) job.mutable_cause()->set_message("rank 1 said no");
    return job;
  }

  FakeCoordinator fake_;
};

TEST_F(AnsweredProcessTest, Submit_PrintsOnlyTheId) {
  const Result result = Tandem("submit " + spec_file_ + " --workers 2");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "digits-1\n");
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(fake_.submitted().size(), 1u);
  EXPECT_EQ(fake_.submitted()[0].spec().workers(), 2u);
}

TEST_F(AnsweredProcessTest, Submit_RefusedByTheCoordinator_ExitsWith2) {
  fake_.submit_status = {grpc::StatusCode::INVALID_ARGUMENT, "steps: no"};
  const Result result = Tandem("submit " + spec_file_);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "tandem: steps: no\n");
}

TEST_F(AnsweredProcessTest, Run_JobSucceeds_ExitsWith0AndAnswersOnStandardOutput) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_QUEUED), Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("run " + spec_file_);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("digits-1  SUCCEEDED\n"));
  EXPECT_THAT(result.err, HasSubstr("QUEUED"));
}

TEST_F(AnsweredProcessTest, Run_JobFails_ExitsWith1AndSaysWhy) {
  fake_.watches = {{{Ended(v1::JOB_STATE_FAILED)}}};
  const Result result = Tandem("run " + spec_file_);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("cause: rank 1 said no"));
}

TEST_F(AnsweredProcessTest, Run_Json_IsOneDocument) {
  fake_.watches = {{{Ended(v1::JOB_STATE_SUCCEEDED)}}};
  const Result result = Tandem("-o json run " + spec_file_);
  v1::Job job;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &job).ok()) << result.out;
  EXPECT_EQ(job.loss(), 0.25);
}

TEST_F(AnsweredProcessTest, Run_Interrupted_CancelsTheJobAndExitsWith130) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_RUNNING)}, grpc::Status::OK, true},
                   {{Ended(v1::JOB_STATE_CANCELLED)}}};
  // The signal is sent when the first line of progress shows that the job is being watched.
  const Result result = Tandem(absl::StrCat("run ", spec_file_, " 2>", folder_,
                                            "/progress & pid=$!; until grep -q RUNNING ", folder_,
                                            "/progress; do :; done; kill -INT $pid; wait $pid"));
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(fake_.cancelled(), testing::ElementsAre("digits-1"));
}

TEST_F(AnsweredProcessTest, Wait_ExitsAsTheJobDid) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.watches = {{{Ended(v1::JOB_STATE_SUCCEEDED)}}, {{Ended(v1::JOB_STATE_CANCELLED)}}};
  EXPECT_EQ(Tandem("wait dig").code, 0);
  EXPECT_EQ(Tandem("wait dig").code, 1);
}

TEST_F(AnsweredProcessTest, Wait_TimeoutRunsOut_ExitsWith124) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  fake_.watches = {{{fake_.jobs[0]}, grpc::Status::OK, true}};
  EXPECT_EQ(Tandem("wait digits-1 --timeout 100ms").code, 124);
}

TEST_F(AnsweredProcessTest, AmbiguousJob_ExitsWith2AndListsThem) {
  fake_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING),
                MakeJob("digits-2", v1::JOB_STATE_RUNNING)};
  const Result result = Tandem("status digits");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("digits-1, digits-2"));
  EXPECT_EQ(Tandem("status digits-2").code, 0);
  EXPECT_EQ(Tandem("list --ids").out, "digits-1\ndigits-2\n");
}

TEST_F(AnsweredProcessTest, Describe_HasTheEnvironmentOfRankZero) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  for (const char* text : {"tandem-trainer 0.1.0", "  libraries  LibTorch"}) {
    fake_.logs.emplace_back();
    fake_.logs.back().set_text(text);
  }
  EXPECT_THAT(Tandem("describe digits-1").out,
              HasSubstr("\ntandem-trainer 0.1.0\n  libraries  LibTorch\n"));
}

TEST_F(AnsweredProcessTest, Logs_OfOneRank_HaveNoPrefix) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  for (uint32_t rank : {0u, 1u}) {
    fake_.logs.emplace_back();
    fake_.logs.back().set_rank(rank);
    fake_.logs.back().set_text(absl::StrCat("from ", rank));
  }
  EXPECT_EQ(Tandem("logs digits-1").out, "[0] from 0\n[1] from 1\n");
  EXPECT_EQ(Tandem("logs digits-1 --rank 1").out, "from 1\n");
}

TEST_F(AnsweredProcessTest, Loss_AsCsv) {
  fake_.jobs = {Ended(v1::JOB_STATE_SUCCEEDED)};
  fake_.samples.resize(3);
  for (size_t i = 0; i < 3; ++i) fake_.samples[i].set_step(i + 1);
  const Result result = Tandem("loss digits-1 --csv");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4);
}

}  // namespace
}  // namespace tandem::client
