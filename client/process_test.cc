// The program as scripts use it: arguments, exit codes, and what goes to which stream.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/testing/process_fixture.h"
#include "common/spec/yaml_reader.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ProcessTest, NobodyListens_ExitsWith3AndOneLineThatNamesTheAddress) {
  for (const char* line :
       {"list", "workers", "status x", "describe x", "wait x", "logs x", "loss x", "cancel x",
        "compare x y", "list -o json", "resize x 2", "drain x"}) {
    const Result result = Tandem(absl::StrCat(line, " --retry-for 0"));
    EXPECT_EQ(result.code, 3) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_THAT(result.err, HasSubstr(nobody_.address())) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(Tandem("submit --retry-for 0 " + spec_file_).code, 3);
  EXPECT_EQ(Tandem("run --retry-for 0 " + spec_file_).code, 3);
}

TEST_F(ProcessTest, NobodyListens_IsWaitedForByDefaultAndSaidSo) {
  EXPECT_THAT(Tandem("list").err,
              StartsWith(absl::StrCat("no coordinator answers at ", nobody_.address(),
                                      " yet; trying again for 3s\ntandem: ")));
}

TEST_F(ProcessTest, ListenerThatNeverAnswers_ExitsWith3Soon) {
  const DeadPort silent(true);
  coordinator_ = silent.address();
  const absl::Time before = absl::Now();
  EXPECT_EQ(Tandem("list").code, 3);
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
}

TEST_F(ProcessTest, WrongCommandLines_ExitWith2AndOneLine) {
  for (const std::string& line : {std::string(""),
                                  std::string("--foo"),
                                  std::string("frobnicate"),
                                  std::string("list --foo"),
                                  std::string("status"),
                                  std::string("-o xml list"),
                                  std::string("--coordinator nowhere list"),
                                  std::string("completion tcsh"),
                                  std::string("wait x --timeout soon"),
                                  std::string("list --retry-for -1"),
                                  std::string("resize x"),
                                  std::string("resize x 0"),
                                  std::string("resize x 1-"),
                                  std::string("resize x 4-2"),
                                  std::string("resize x 1-2-3"),
                                  std::string("drain x --undo --wait"),
                                  "check " + spec_file_ + " --workers 1-",
                                  "check " + spec_file_ + " --workers 1-2-3",
                                  "check " + spec_file_ + " --priority high",
                                  "run " + spec_file_ + " --local 0",
                                  "run " + spec_file_ + " --local many",
                                  "run " + spec_file_ + " --workers -1",
                                  "verify " + spec_file_ + " --workers 0",
                                  "verify " + spec_file_ + " --workers 1,two",
                                  "verify " + spec_file_ + " --workers 1,8",
                                  "verify " + spec_file_ + " --steps 0",
                                  "verify " + spec_file_ + " --tolerance -1",
                                  std::string("compare x"),
                                  "check " + spec_file_ + " --seed -5",
                                  "check " + spec_file_ + " --seed 18446744073709551616",
                                  std::string("explain no.such.key"),
                                  std::string("submit /no/such/file.yaml"),
                                  "submit " + folder_,
                                  "submit " + spec_file_ + " --set nmae=x",
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

TEST_F(ProcessTest, MoreLocalSlotsThanLogicalRanks_SaysHowManyWorkersThereAre) {
  // Stops at once: the programs that it would start are not there.
  RunACopy();
  EXPECT_THAT(Tandem("run " + spec_file_ + " --local 5").err,
              StartsWith("note: 4 workers: logical_ranks is 4\n"));
  EXPECT_THAT(Tandem("run " + spec_file_ + " --local 4").err, Not(HasSubstr("note")));
  EXPECT_THAT(Tandem("run " + spec_file_ + " --local 5 --workers 2").err, Not(HasSubstr("note")));
}

TEST_F(ProcessTest, VerifyWithoutPrograms_SaysWhichIsMissing) {
  RunACopy();
  const Result result = Tandem("verify " + spec_file_);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(folder_ + "/tandemd"));
}

TEST_F(ProcessTest, DerivedLogicalRanks_AreNoted) {
  WriteSpec(spec::SampleSpec());
  const std::string note =
      "note: logical_ranks is not set and becomes 4, from workers; set it to keep the same result "
      "with another number of workers\n";
  EXPECT_EQ(Tandem("check --workers 3 " + spec_file_).err, note);
  EXPECT_THAT(Tandem("submit --retry-for 0 --workers 3 " + spec_file_).err, StartsWith(note));
  EXPECT_THAT(Tandem("run --retry-for 0 --workers 3 " + spec_file_).err, StartsWith(note));
}

TEST_F(ProcessTest, Help_SaysTheExitCodesOnce) {
  const Result result = Tandem("--help");
  EXPECT_EQ(result.code, 0);
  for (const char* code : {"  0 ", "  1 ", "  2 ", "  3 ", "  124 ", "130  interrupted"}) {
    EXPECT_THAT(result.out, HasSubstr(code));
  }
  EXPECT_THAT(Tandem("run --help").out, Not(HasSubstr("interrupted")));
}

TEST_F(ProcessTest, Help_FitsIn80Columns) {
  for (const char* command :
       {"",        "run",   "torchrun", "submit",  "list",       "status",  "describe",
        "cancel",  "wait",  "logs",     "loss",    "verify",     "compare", "resize",
        "workers", "drain", "check",    "explain", "completion", "version"}) {
    const Result result = Tandem(absl::StrCat(command, " --help"));
    EXPECT_EQ(result.code, 0);
    for (const absl::string_view line : absl::StrSplit(result.out, '\n')) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
}

TEST_F(ProcessTest, Version_IsAlsoAnOption) {
  const Result result = Tandem("--version");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, Tandem("version").out);
}

TEST_F(ProcessTest, Mistake_IsNamedWithWhatWasMeant) {
  const std::string spec = spec_file_;
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"runn", "unknown command runn, did you mean run?"},
      {"runn " + spec + " --local 2", "unknown command runn, did you mean run?"},
      {"xyzzy", "unknown command xyzzy; see tandem --help"},
      {"run --locl 2 a b", "unknown option --locl, did you mean --local?"},
      {"run --locl=2", "unknown option --locl, did you mean --local?"},
      {"--cordinator a:1 list", "unknown option --cordinator, did you mean --coordinator?"},
      {"list -x", "unknown option -x; see tandem --help"},
      {"--local 2 run " + spec, "option --local belongs behind its command; see tandem --help"},
      {"check " + spec + " b c d", "not expected: b c d; see tandem --help"},
  };
  for (const auto& [line, message] : lines) {
    const Result result = Tandem(line);
    EXPECT_EQ(result.code, 2) << line;
    EXPECT_EQ(result.err, absl::StrCat("tandem: ", message, "\n"));
  }
}

TEST_F(ProcessTest, Check_PrintsTheSpecWithAllDefaults) {
  const Result result = Tandem("check " + spec_file_ + " --set optimizer.adamw.lr=0.5 --seed 9");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto spec = spec::ReadYaml(result.out, "out");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->optimizer().adamw().lr(), 0.5);
  EXPECT_EQ(spec->seed(), 9u);
  EXPECT_EQ(spec->logical_ranks(), 4u);
  EXPECT_EQ(result.err, "");
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

TEST_F(ProcessTest, Check_EachMistakeOfTheExamples_IsValidAndListed) {
  const std::string folder = TANDEM_SOURCE_DIR "/examples/mistakes";
  const std::string list = Contents(folder + "/README.md");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_EQ(Tandem("check " + entry.path().string()).code, 0) << entry.path();
    EXPECT_THAT(list, HasSubstr("`" + entry.path().filename().string() + "`"));
  }
}

TEST_F(ProcessTest, Explain_PrintsOneKeyOrAllOrJson) {
  EXPECT_THAT(Tandem("explain optimizer.adamw.lr").out, HasSubstr("greater than 0"));
  EXPECT_THAT(Tandem("explain").out, HasSubstr("evaluate.holdout"));
  EXPECT_THAT(Tandem("explain workers -o json").out, HasSubstr("\"key\": \"workers\""));
  EXPECT_THAT(Tandem("explain lr").err,
              HasSubstr("optimizer.adamw.lr or optimizer.sgd.lr or optimizer.adam.lr?"));
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

TEST_F(ProcessTest, Completion_OfJobs_CallsTheProgramAsTyped) {
  std::ofstream(folder_ + "/completion") << Tandem("completion bash").out;
  // A program that is not in the PATH, below a folder that the shell writes as ~.
  WriteProgram("tandem", "echo \"job-of-$*\" | tr ' ' _");
  std::ofstream(folder_ + "/try") << "HOME=" << folder_ << "; source " << folder_ << "/completion\n"
                                  << "COMP_WORDS=('~/tandem' status ''); COMP_CWORD=2; _tandem\n"
                                  << "echo ${COMPREPLY[*]}\n";
  const std::string bash = "bash " + folder_ + "/try >" + folder_ + "/tried";
  EXPECT_EQ(std::system(bash.c_str()), 0);
  EXPECT_EQ(Contents(folder_ + "/tried"), "job-of-list_--ids_--retry-for_0\n");
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

}  // namespace
}  // namespace tandem::client
