#include "worker/agent/flags.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<Flags> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tandem-worker");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data());
}

TEST(ParseFlags, OnlySlots_LeavesTheDefaults) {
  const auto flags = Parse({"--slots", "cpu:2"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->coordinator, "127.0.0.1:4270");
  EXPECT_EQ(flags->kill_grace, absl::Milliseconds(500));
  EXPECT_EQ(flags->log_cap_bytes, 64U << 20);
  EXPECT_FALSE(flags->die_with_parent);
  EXPECT_EQ(flags->show, "");
}

TEST(ParseFlags, AllGiven_AreTaken) {
  const auto flags =
      Parse({"--slots=cpu:1", "--coordinator=node:1", "--name=w", "--trainer=/t", "--log-dir=/l",
             "--log-cap-bytes=7", "--kill-grace=2s", "--exit-when-coordinator-gone=1m",
             "--advertise-address=10.0.0.1", "--die-with-parent"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->coordinator, "node:1");
  EXPECT_EQ(flags->name, "w");
  EXPECT_EQ(flags->trainer, "/t");
  EXPECT_EQ(flags->log_dir, "/l");
  EXPECT_EQ(flags->log_cap_bytes, 7U);
  EXPECT_EQ(flags->kill_grace, absl::Seconds(2));
  EXPECT_EQ(flags->exit_when_coordinator_gone, absl::Minutes(1));
  EXPECT_EQ(flags->advertise_address, "10.0.0.1");
  EXPECT_TRUE(flags->die_with_parent);
}

struct BadFlags {
  std::vector<const char*> arguments;
  std::string named;
};

TEST(ParseFlags, BadValue_IsOneLineThatNamesTheFlag) {
  const std::vector<BadFlags> all = {
      {{}, "--slots"},
      {{"--slots", "gpu"}, "--slots"},
      {{"--slots", "cuda:0,0"}, "--slots: cuda:0 is there twice"},
      {{"--slots", "cpu:1", "cuda:0"}, "cuda:0"},
      {{"--slots", "cpu:0"}, "--slots"},
      {{"--slots", "cpu:1025"}, "--slots"},
      {{"--slots", "cpu:1", "--coordinator", "nowhere"}, "--coordinator"},
      {{"--slots", "cpu:1", "--coordinator", "node:0"}, "--coordinator"},
      {{"--slots", "cpu:1", "--kill-grace", "soon"}, "--kill-grace"},
      {{"--slots", "cpu:1", "--kill-grace", "-1s"}, "--kill-grace"},
      {{"--slots", "cpu:1", "--kill-grace", "inf"}, "--kill-grace"},
      {{"--slots", "cpu:1", "--exit-when-coordinator-gone", "inf"}, "--exit-when-coordinator-gone"},
      {{"--slots", "cpu:1", "--advertise-address", "node-1"}, "--advertise-address"},
      {{"--slots", "cpu:1", "--advertise-address", "[::1]"}, "--advertise-address"},
      {{"--slots", "cpu:1", "--log-cap-bytes", "many"}, "--log-cap-bytes"},
      {{"--slots", "cpu:1", "--speed", "high"}, "--speed"},
  };
  for (const BadFlags& bad : all) {
    const auto flags = Parse(bad.arguments);
    ASSERT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument) << bad.named;
    const std::string message(flags.status().message());
    EXPECT_THAT(message, HasSubstr(bad.named));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST(ParseFlags, HelpAndVersion_AreShownWithoutSlots) {
  EXPECT_THAT(Parse({"--help"})->show, HasSubstr("--kill-grace"));
  EXPECT_THAT(Parse({"--version"})->show, HasSubstr("tandem-worker"));
}

TEST(ParseFlags, SlotsSeveralTimes_AreAllTaken) {
  const auto flags = Parse({"--slots", "cuda:0,1", "--slots", "cpu:3"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  ASSERT_EQ(flags->slots.size(), 2U);
  EXPECT_THAT(flags->slots[0].indices, ElementsAre(0U, 1U));
  EXPECT_EQ(flags->slots[1].count, 3U);
}

}  // namespace
}  // namespace tandem::agent
