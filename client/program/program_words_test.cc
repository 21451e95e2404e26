#include "client/program/program_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace tandem::client {
namespace {

std::vector<std::string> Words(const std::string& line) { return absl::StrSplit(line, ' '); }

TEST(NameOfProgram, IsThatOfTheScriptWhoeverRunsIt) {
  const std::pair<std::string, std::string> names[] = {
      {"train.py", "train"},
      {"./train", "train"},
      {"/opt/bin/run-all.sh --x", "run-all"},
      {"python train.py", "train"},
      {"/usr/bin/python3.11 -u src/train.py --lr 1", "train"},
      {"python3 -u -m package.train --x", "package.train"},
      {"python -c pass", "python"},
      {"bash job.sh", "job"},
      {"sh -c echo", "sh"},
      {"python3", "python3"},
      {"my+script.py", "my-script"},
      {".hidden", ".hidden"},
      {"/", "program"},
  };
  for (const auto& [line, name] : names) EXPECT_EQ(NameOfProgram(Words(line)), name) << line;
}

TEST(PlainName, ALongOne_IsCut) {
  EXPECT_EQ(PlainName(std::string(100, 'a')), std::string(63, 'a'));
}

TEST(ShellText, CanBeTypedInAShell) {
  EXPECT_EQ(ShellText({"python", "train.py", "--name", "a b", "it's", ""}, 100),
            "python train.py --name 'a b' 'it'\\''s' ''");
}

TEST(ShellText, IsOneLineAndEndsAtACharacter) {
  EXPECT_EQ(ShellText({"sh", "-c", "a\nb"}, 100), "sh -c 'a b'");
  EXPECT_EQ(ShellText({"abcdefghij"}, 8), "abcde...");
  EXPECT_EQ(ShellText({"abcdéfghij"}, 9), "'abcd...");
}

}  // namespace
}  // namespace tandem::client
