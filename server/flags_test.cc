#include "server/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

struct Outcome {
  ParsedFlags flags;
  std::string complaint;
};

Outcome Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tandemd");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome{ParseFlags(static_cast<int>(arguments.size()), arguments.data()), ""};
  ::testing::internal::GetCapturedStdout();
  outcome.complaint = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(FlagsTest, ParseFlags_Nothing_ListensOnLoopback) {
  const DaemonOptions options = Parse({}).flags.options;
  EXPECT_EQ(options.listen, "127.0.0.1:4270");
  EXPECT_EQ(options.http, "127.0.0.1:4271");
}

TEST(FlagsTest, ParseFlags_Everything_IsTakenOver) {
  const Outcome outcome =
      Parse({"--state-dir=/s", "--listen", "[::1]:0", "--http=localhost:0", "--port-file=/p",
             "--heartbeat-interval=1s", "--worker-lease=1m", "--prepare-timeout=1h30m"});
  EXPECT_FALSE(outcome.flags.exit_code.has_value()) << outcome.complaint;
  const DaemonOptions& options = outcome.flags.options;
  EXPECT_EQ(options.state_dir, "/s");
  EXPECT_EQ(options.listen, "[::1]:0");
  EXPECT_EQ(options.http, "localhost:0");
  EXPECT_EQ(options.port_file, "/p");
  EXPECT_EQ(options.core.heartbeat_interval, absl::Seconds(1));
  EXPECT_EQ(options.core.worker_lease, absl::Minutes(1));
  EXPECT_EQ(options.core.prepare_timeout, absl::Minutes(90));
}

TEST(FlagsTest, ParseFlags_Mistakes_AreOneLineAndExitCode2) {
  for (const char* mistake :
       {"--bogus", "extra", "--worker-lease=3", "--prepare-timeout=-1s", "--prepare-timeout=0",
        "--worker-lease=1ms", "--heartbeat-interval=inf"}) {
    const Outcome outcome = Parse({mistake});
    EXPECT_EQ(outcome.flags.exit_code, 2) << mistake;
    EXPECT_EQ(outcome.complaint.find('\n'), outcome.complaint.size() - 1) << outcome.complaint;
  }
}

TEST(FlagsTest, ParseFlags_HelpAndVersion_EndWell) {
  EXPECT_EQ(Parse({"--help"}).flags.exit_code, 0);
  EXPECT_EQ(Parse({"--version"}).flags.exit_code, 0);
}

}  // namespace
}  // namespace tandem
