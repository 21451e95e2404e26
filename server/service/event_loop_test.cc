#include "server/service/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace tandem::service {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

TEST(EventLoopTest, Post_FromOneThread_RunsInOrder) {
  EventLoop loop(kLong, [] {});
  loop.Start();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) loop.Post([&order, i] { order.push_back(i); });
  loop.Stop();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(EventLoopTest, Post_FromManyThreads_NeverRunsTwoAtOnce) {
  EventLoop loop(kLong, [] {});
  loop.Start();
  int count = 0;  // Without a lock: the thread sanitizer watches.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) loop.Post([&count] { ++count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.Stop();
  EXPECT_EQ(count, 4000);
}

TEST(EventLoopTest, Run_ReturnsAfterTheClosureRan) {
  EventLoop loop(kLong, [] {});
  loop.Start();
  bool ran = false;
  EXPECT_TRUE(loop.Run([&] { ran = true; }, kLong));
  EXPECT_TRUE(ran);
}

TEST(EventLoopTest, Run_LoopIsBusy_GivesUpAtTheTimeout) {
  absl::Notification release;
  EventLoop loop(kLong, [] {});
  loop.Start();
  loop.Post([&] { release.WaitForNotification(); });
  EXPECT_FALSE(loop.Run([] {}, absl::Milliseconds(1)));
  release.Notify();
}

TEST(EventLoopTest, Tick_ComesAgainAndAgain_AlsoWithNothingPosted) {
  absl::Notification third;
  EventLoop loop(absl::Milliseconds(1), [&, ticks = 0]() mutable {
    if (++ticks == 3) third.Notify();
  });
  loop.Start();
  EXPECT_TRUE(third.WaitForNotificationWithTimeout(kLong));
}

TEST(EventLoopTest, Post_AfterStop_IsRefused) {
  EventLoop loop(kLong, [] {});
  loop.Start();
  loop.Stop();
  EXPECT_FALSE(loop.Post([] { FAIL(); }));
  EXPECT_FALSE(loop.Run([] { FAIL(); }, kLong));
}

TEST(EventLoopTest, Stop_NeverStarted_Returns) {
  EventLoop loop(kLong, [] {});
  loop.Stop();
}

}  // namespace
}  // namespace tandem::service
