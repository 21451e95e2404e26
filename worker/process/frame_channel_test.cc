#include "worker/process/frame_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "common/message_channel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::RankFailure Failure(const std::string& message) {
  v1::RankFailure failure;
  failure.set_message(message);
  return failure;
}

class FrameChannelTest : public ::testing::Test {
 protected:
  FrameChannelTest() {
    auto [ours, theirs] = *MakeSocketPair();
    other_end_ = std::move(theirs);
    channel_ = std::make_unique<FrameChannel<v1::RankFailure>>(
        loop_.get(), std::move(ours),
        [this](const v1::RankFailure& failure) {
          received_.push_back(failure.message());
          if (on_message_) on_message_();
        },
        [this](const absl::Status& reason) {
          closed_ = reason;
          loop_->Stop();
        });
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  FileDescriptor other_end_;
  std::vector<std::string> received_;
  std::function<void()> on_message_;
  absl::Status closed_;
  std::unique_ptr<FrameChannel<v1::RankFailure>> channel_;
};

TEST_F(FrameChannelTest, OtherEndSpeaksAndCloses_AllIsDeliveredBeforeTheEnd) {
  {
    MessageChannel other(std::move(other_end_));
    ASSERT_TRUE(other.Send(Failure("one")).ok());
    ASSERT_TRUE(other.Send(Failure("two")).ok());
  }
  loop_->Run();
  EXPECT_THAT(received_, ElementsAre("one", "two"));
  EXPECT_EQ(closed_.code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FrameChannelTest, OtherEndSendsSomethingElse_IsDataLoss) {
  const std::string garbage(8, '\xFF');
  ASSERT_EQ(send(other_end_.get(), garbage.data(), garbage.size(), 0), 8);
  loop_->Run();
  EXPECT_THAT(received_, IsEmpty());
  EXPECT_EQ(closed_.code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameChannelTest, HangUp_InACallback_NothingFollows) {
  on_message_ = [this] {
    channel_->HangUp();
    loop_->Post([this] { loop_->Stop(); });
  };
  // Empty messages, then something else.
  const std::string bytes = std::string(2 * kFrameHeaderBytes, '\0') + std::string(8, '\xFF');
  ASSERT_EQ(send(other_end_.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  loop_->Run();
  EXPECT_THAT(received_, ElementsAre(""));
  EXPECT_TRUE(closed_.ok());
}

TEST_F(FrameChannelTest, Flush_NobodyReads_EndsWhenItsPatienceDoes) {
  // More than a socket takes.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(channel_->Send(Failure(std::string(100'000, 'x'))).ok());
  }
  channel_->Flush(absl::Milliseconds(1));
  char bytes[100'000];
  EXPECT_GT(recv(other_end_.get(), bytes, sizeof(bytes), 0), 0);
}

TEST_F(FrameChannelTest, Flush_OtherEndIsGone_Returns) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(channel_->Send(Failure(std::string(100'000, 'x'))).ok());
  }
  other_end_.Reset();
  channel_->Flush(absl::InfiniteDuration());
}

}  // namespace
}  // namespace tandem
