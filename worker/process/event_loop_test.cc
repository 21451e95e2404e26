#include "worker/process/event_loop.h"

#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

class EventLoopTest : public ::testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
};

TEST_F(EventLoopTest, Post_FromOtherThread_RunsOnTheLoopInOrder) {
  std::vector<int> ran;
  std::thread poster([&] {
    for (int i = 0; i < 3; ++i) loop_->Post([&, i] { ran.push_back(i); });
    loop_->Post([&] { loop_->Stop(); });
  });
  loop_->Run();
  poster.join();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
}

TEST_F(EventLoopTest, Post_MoreThanAnyPipeTakesFromTheLoopItself_AllRun) {
  constexpr int kTasks = 200'000;
  int ran = 0;
  for (int i = 0; i < kTasks; ++i) loop_->Post([&] { ++ran; });
  loop_->Post([&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(ran, kTasks);
}

TEST_F(EventLoopTest, After_SeveralTimers_FireByDueTime) {
  std::vector<std::string> fired;
  // All are due when the loop begins, however long this thread was held up between two lines.
  auto stop = loop_->After(absl::ZeroDuration(), [&] { loop_->Stop(); });
  auto second = loop_->After(-absl::Hours(1), [&] { fired.push_back("second"); });
  auto first = loop_->After(-absl::Hours(2), [&] { fired.push_back("first"); });
  loop_->Run();
  EXPECT_THAT(fired, ElementsAre("first", "second"));
}

TEST_F(EventLoopTest, Registration_Reset_CallbackIsNotCalled) {
  bool fired = false;
  auto cancelled = loop_->After(absl::ZeroDuration(), [&] { fired = true; });
  cancelled.Reset();
  auto stop = loop_->After(absl::Milliseconds(1), [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_FALSE(fired);
}

TEST_F(EventLoopTest, Watch_CallbackEndsItsOwnRegistration_IsCalledOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  int calls = 0;
  EventLoop::Registration watch;
  watch = loop_->Watch(read_end.get(), EPOLLIN, [&](uint32_t) {
    watch.Reset();
    ++calls;
  });
  auto stop = loop_->After(absl::Milliseconds(1), [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, Watch_TwoReadyAndFirstEndsTheSecond_SecondIsNotCalled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  const FileDescriptor copy(dup(read_end.get()));
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  int calls = 0;
  EventLoop::Registration first, second;
  const auto end_both = [&](uint32_t) {
    ++calls;
    first.Reset();
    second.Reset();
  };
  first = loop_->Watch(read_end.get(), EPOLLIN, end_both);
  second = loop_->Watch(copy.get(), EPOLLIN, end_both);
  auto stop = loop_->After(absl::Milliseconds(1), [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, Destructor_TasksNeverRun_AreDestroyed) {
  auto held = std::make_shared<int>(0);
  loop_->Post([held] {});
  loop_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tandem
