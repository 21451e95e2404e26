// What programs print comes through as it is.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kMuch = size_t{100} << 20;
constexpr char kBegin[] = "-- begin --\n";

// 100 MiB of lines of all lengths, with bytes that are not UTF-8, and no newline at the end.
constexpr char kPrintsMuch[] = R"(
import os, sys
line = bytes(range(1, 10)) + bytes(range(11, 256))
block = b"".join(line[: n % 250] + b"\n" for n in range(9000))
left = 100 << 20
out = sys.stdout.buffer
out.write(b"-- begin --\n")
while left > 0:
    out.write(block[: left])
    left -= len(block)
out.flush()
os.close(1)
)";

std::string Printed(const RankRecord& record) {
  return record.output.substr(record.output.find(kBegin) + sizeof(kBegin) - 1);
}

TEST(Streams, MuchOutput_ComesThroughWhole) {
  const RankRecord record = RunOne(PythonSpec(kPrintsMuch));
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_EQ(Printed(record).size(), kMuch);
}

TEST(Streams, MuchOutputThatIsParsed_IsTheSameBytes) {
  v1::JobSpec spec = PythonSpec(kPrintsMuch);
  const std::string without = Printed(RunOne(spec));
  spec.mutable_command()->mutable_parse()->set_loss("loss ([0-9.]+)");
  const RankRecord record = RunOne(spec);
  EXPECT_EQ(record.exit_code, 0);
  // Not EXPECT_EQ, which would print them. Behind them it is said that there was no loss.
  EXPECT_TRUE(Printed(record).substr(0, without.size()) == without);
}

TEST(Streams, LastLineWithoutNewline_IsParsedToo) {
  v1::JobSpec spec = ShellSpec("printf 'loss 0.5'");
  spec.mutable_command()->mutable_parse()->set_loss("loss ([0-9.]+)");
  const RankRecord record = RunOne(spec);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:0.5/1"));
  EXPECT_THAT(record.output, ::testing::EndsWith("loss 0.5"));
}

TEST(Streams, Header_SaysWhatWasSetAndNoSecrets) {
  v1::JobSpec spec = ShellSpec("true");
  spec.mutable_command()->add_env("API_TOKEN=squeamish");
  const RankRecord record = RunOne(spec);
  EXPECT_THAT(record.output, HasSubstr("tandem-command "));
  EXPECT_THAT(record.output, HasSubstr("0 of 1, local rank 0"));
  EXPECT_THAT(record.output, HasSubstr("API_TOKEN"));
  EXPECT_THAT(record.output, ::testing::Not(HasSubstr("squeamish")));
}

}  // namespace
}  // namespace tandem::command
