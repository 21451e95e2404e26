#include "client/launcher_header.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::client {
namespace {

v1::LogLine Line(uint32_t rank, const std::string& text,
                 v1::LogStream stream = v1::LOG_STREAM_STDERR) {
  v1::LogLine line;
  line.set_attempt(1);
  line.set_rank(rank);
  line.set_stream(stream);
  line.set_text(text);
  return line;
}

TEST(LauncherHeader, IsWhatStandsBeforeTheProgramsLines) {
  LauncherHeader header;
  EXPECT_TRUE(header.Has(Line(0, "tandem-command 0.1.0")));
  EXPECT_TRUE(header.Has(Line(0, "  job            train-1 (train), attempt 1")));
  EXPECT_FALSE(header.Has(Line(0, "hello", v1::LOG_STREAM_STDOUT)));
  EXPECT_TRUE(header.Has(Line(0, "  meets at       127.0.0.1:4711")));
  EXPECT_FALSE(header.Has(Line(0, "  File \"train.py\", line 3")));
  EXPECT_FALSE(header.Has(Line(0, "  threads        of the program's own")));
}

TEST(LauncherHeader, EachRankHasOneForEachAttempt) {
  LauncherHeader header;
  EXPECT_TRUE(header.Has(Line(0, "tandem-command 0.1.0")));
  EXPECT_TRUE(header.Has(Line(1, "tandem-command 0.1.0")));
  EXPECT_FALSE(header.Has(Line(1, "a warning")));
  EXPECT_TRUE(header.Has(Line(0, "  threads        1")));
  v1::LogLine next = Line(1, "tandem-command 0.1.0");
  EXPECT_FALSE(header.Has(next)) << "the program says so";
  next.set_attempt(2);
  EXPECT_TRUE(header.Has(next));
}

TEST(LauncherHeader, AJobWithoutOne_KeepsAllItsLines) {
  LauncherHeader header;
  EXPECT_FALSE(header.Has(Line(0, "hello")));
  EXPECT_FALSE(header.Has(Line(0, "tandem-command 0.1.0")));
}

}  // namespace
}  // namespace tandem::client
