#include "common/helper_process.h"

#include <signal.h>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

absl::StatusOr<std::string> Ask(const std::string& script, absl::Duration patience = kPatience) {
  return AskProgram("/bin/sh", {"-c", script}, patience);
}

absl::StatusOr<std::unique_ptr<HelperProcess>> Start(const std::string& script) {
  return HelperProcess::Start({.path = "/bin/sh", .arguments = {"-c", script}});
}

TEST(HelperProcessTest, ProgramThatPrints_IsTheAnswer) {
  EXPECT_EQ(*Ask("echo one; echo two; echo three >&2"), "one\ntwo\n");
  EXPECT_EQ(*Ask(""), "");
  EXPECT_EQ(Ask("head -c 1000000 /dev/zero")->size(), 1000000u);
}

TEST(HelperProcessTest, ProgramThatFails_SaysHowAndItsLastWords) {
  const absl::Status failed = Ask("echo first >&2; echo no driver >&2; exit 3").status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(failed.message(), "sh ended with exit code 3: no driver");
  EXPECT_EQ(Ask("kill -SEGV $$").status().message(), "sh was ended by signal 11");
}

TEST(HelperProcessTest, ProgramThatIsNotThere_CannotBeStarted) {
  EXPECT_EQ(AskProgram("/no/such/program", {}, kPatience).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(HelperProcessTest, ProgramThatHangs_IsGivenUpAndKilledWithItsChildren) {
  std::string child;
  {
    auto helper = *Start("sleep 600 & echo $!; wait");
    child = *helper->ReadLine(absl::Now() + kPatience);
    EXPECT_EQ(helper->ReadRest(absl::Now() + absl::Milliseconds(20)).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(child, &pid));
  const absl::Time deadline = absl::Now() + kPatience;
  // Whoever takes in orphans may be slow to reap it.
  while (kill(pid, 0) == 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(HelperProcessTest, ChildThatKeepsThePipe_IsNotWaitedFor) {
  EXPECT_EQ(*Ask("sleep 600 & echo done"), "done\n");
}

TEST(HelperProcessTest, OutputClosedEarly_TheEndIsStillWaitedFor) {
  EXPECT_EQ(Ask("exec >&- 2>&-; sleep 0.05; exit 4").status().message(),
            "sh ended with exit code 4");
}

TEST(HelperProcessTest, Lines_ComeOneByOneAndThenTheRest) {
  auto helper = *Start("echo a; echo b; printf c");
  const absl::Time deadline = absl::Now() + kPatience;
  EXPECT_EQ(*helper->ReadLine(deadline), "a");
  EXPECT_EQ(*helper->ReadLine(deadline), "b");
  EXPECT_EQ(*helper->ReadRest(deadline), "c");
}

TEST(HelperProcessTest, EndBeforeTheLine_IsAnError) {
  auto helper = *Start("printf half");
  const absl::Status status = helper->ReadLine(absl::Now() + kPatience).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("sh ended with exit code 0"));
}

TEST(HelperProcessTest, EndlessOutput_IsGivenUp) {
  EXPECT_EQ(Ask("yes").status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tandem
