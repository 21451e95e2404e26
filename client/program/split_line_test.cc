#include "client/program/split_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace tandem::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using Words = std::vector<std::string>;

// Some commands of the client, with some options.
class SplitAtProgramTest : public testing::Test {
 protected:
  SplitAtProgramTest() : app_("", "tandem") {
    app_.add_option("-o,--output", text_);
    app_.add_subcommand("run")->add_option("--local", text_);
    app_.add_subcommand("cancel")->add_option("JOB", text_);
    CLI::App* torchrun = app_.add_subcommand("torchrun");
    torchrun->add_option("--nproc-per-node,--nproc_per_node", text_);
    torchrun->add_flag("-m,--module", flag_);
  }

  SplitLine Split(const Words& words) const { return SplitAtProgram(app_, words); }

  CLI::App app_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(SplitAtProgramTest, TheProgramStandsBehindTheFirstMark) {
  const SplitLine line = Split({"run", "--local", "2", "--", "python", "a.py", "--", "-o", "x"});
  EXPECT_THAT(line.ours, ElementsAre("run", "--local", "2"));
  EXPECT_THAT(line.program, Optional(ElementsAre("python", "a.py", "--", "-o", "x")));
}

TEST_F(SplitAtProgramTest, NothingBehindTheMark_IsAnEmptyProgram) {
  EXPECT_THAT(Split({"run", "--"}).program, Optional(IsEmpty()));
  EXPECT_EQ(Split({"run", "job.yaml"}).program, std::nullopt);
}

TEST_F(SplitAtProgramTest, OtherCommands_KeepTheirMark) {
  const SplitLine line = Split({"cancel", "--", "-job"});
  EXPECT_THAT(line.ours, ElementsAre("cancel", "--", "-job"));
  EXPECT_EQ(line.program, std::nullopt);
}

TEST_F(SplitAtProgramTest, TorchrunsScript_IsTheFirstWordThatIsNoOptionAndNoValue) {
  for (const Words& options :
       {Words{"torchrun", "--nproc_per_node", "2", "-m"}, Words{"torchrun", "--nproc-per-node=2"},
        Words{"torchrun"}, Words{"-o", "json", "torchrun", "--module"},
        Words{"torchrun", "-o", "json"}}) {
    Words words = options;
    words.insert(words.end(), {"train.py", "-m", "--nproc-per-node", "7"});
    const SplitLine line = Split(words);
    EXPECT_EQ(line.ours, options);
    EXPECT_THAT(line.program, Optional(ElementsAre("train.py", "-m", "--nproc-per-node", "7")));
  }
}

TEST_F(SplitAtProgramTest, TorchrunWithoutAScript_HasNoProgram) {
  EXPECT_EQ(Split({"torchrun", "--nproc-per-node", "2"}).program, std::nullopt);
}

}  // namespace
}  // namespace tandem::client
