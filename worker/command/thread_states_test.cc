#include "worker/command/thread_states.h"

#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::HasSubstr;

TEST(ThreadStates, CaughtSignal_IsReadFromTheMask) {
  const char* status = "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000800\n";
  EXPECT_TRUE(CatchesSignal(status, SIGUSR2));
  EXPECT_FALSE(CatchesSignal(status, SIGUSR1));
  EXPECT_FALSE(CatchesSignal("", SIGUSR2));
}

TEST(ThreadStates, OwnHandler_IsSeen) {
  EXPECT_FALSE(CatchesSignal(getpid(), SIGUSR2));
  signal(SIGUSR2, [](int) {});
  EXPECT_TRUE(CatchesSignal(getpid(), SIGUSR2));
  signal(SIGUSR2, SIG_DFL);
}

TEST(ThreadStates, OwnThread_IsDescribed) {
  EXPECT_THAT(DescribeThreads(getpid()), HasSubstr("thread " + std::to_string(getpid()) + " ("));
  EXPECT_THAT(DescribeThreads(getpid()), HasSubstr("R (running)"));
}

}  // namespace
}  // namespace tandem::command
