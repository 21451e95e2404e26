#include "client/program/shown_output.h"

#include <gtest/gtest.h>

namespace tandem::client {
namespace {

constexpr v1::LogStream kStdout = v1::LOG_STREAM_STDOUT;
constexpr v1::LogStream kStderr = v1::LOG_STREAM_STDERR;

TEST(ShownOutput, NothingSaid_ShowsAll) {
  EXPECT_TRUE(ShownOutput().Shows(0, kStdout));
  EXPECT_TRUE(ShownOutput::Parse("", "")->Shows(7, kStderr));
}

TEST(ShownOutput, ARedirectedStream_IsNotShown) {
  const auto shown = ShownOutput::Parse("1", "");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_FALSE(shown->Shows(0, kStdout));
  EXPECT_TRUE(shown->Shows(0, kStderr));
}

TEST(ShownOutput, TeeShowsWhatIsRedirected) {
  const auto shown = ShownOutput::Parse("3", "0:3,2:1");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_TRUE(shown->Shows(0, kStderr));
  EXPECT_FALSE(shown->Shows(1, kStdout));
  EXPECT_TRUE(shown->Shows(2, kStdout));
  EXPECT_FALSE(shown->Shows(2, kStderr));
}

TEST(ShownOutput, WhatIsNeitherFormIsRefused) {
  for (const char* text : {"4", "-1", "x", "0:4", "0:", ":1", "0:1,", "0=1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ShownOutput::Parse(text, "").status())) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(ShownOutput::Parse("", text).status())) << text;
  }
}

}  // namespace
}  // namespace tandem::client
