#include "common/message_channel.h"

#include <sys/socket.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem {
namespace {

struct Ends {
  FileDescriptor left, right;
};

Ends MakeEnds() {
  auto pair = MakeSocketPair();
  return {std::move(pair->first), std::move(pair->second)};
}

TEST(MessageChannel, Send_SeveralMessages_ArriveInOrder) {
  Ends ends = MakeEnds();
  MessageChannel left(std::move(ends.left)), right(std::move(ends.right));
  for (int i = 0; i < 3; ++i) {
    v1::RankFinished message;
    message.set_parameter_digest(std::string(static_cast<size_t>(i) * 1000, 'x'));
    ASSERT_TRUE(left.Send(message).ok());
  }
  for (size_t i = 0; i < 3; ++i) {
    v1::RankFinished message;
    ASSERT_TRUE(right.Receive(&message).ok());
    EXPECT_EQ(message.parameter_digest().size(), i * 1000);
  }
}

TEST(MessageChannel, Send_LongerThanSocketBuffer_ArrivesWhole) {
  Ends ends = MakeEnds();
  MessageChannel left(std::move(ends.left)), right(std::move(ends.right));
  v1::RankFinished sent;
  sent.set_parameter_digest(std::string(8 << 20, 'y'));
  std::thread sender([&] { EXPECT_TRUE(left.Send(sent).ok()); });
  v1::RankFinished got;
  EXPECT_TRUE(right.Receive(&got).ok());
  sender.join();
  EXPECT_EQ(got.parameter_digest(), sent.parameter_digest());
}

TEST(MessageChannel, Receive_PeerClosed_IsOutOfRange) {
  Ends ends = MakeEnds();
  MessageChannel right(std::move(ends.right));
  ends.left.Reset();
  v1::RankFinished message;
  EXPECT_EQ(right.Receive(&message).code(), absl::StatusCode::kOutOfRange);
}

TEST(MessageChannel, Receive_PeerClosedInsideMessage_IsDataLoss) {
  Ends ends = MakeEnds();
  MessageChannel right(std::move(ends.right));
  const std::string partial("\x08\0\0\0ab", 6);
  ASSERT_EQ(send(ends.left.get(), partial.data(), partial.size(), 0), 6);
  ends.left.Reset();
  v1::RankFinished message;
  EXPECT_EQ(right.Receive(&message).code(), absl::StatusCode::kDataLoss);
}

TEST(MessageChannel, Receive_AbsurdLength_IsDataLoss) {
  Ends ends = MakeEnds();
  MessageChannel right(std::move(ends.right));
  ASSERT_EQ(send(ends.left.get(), "GET ", 4, 0), 4);
  v1::RankFinished message;
  EXPECT_EQ(right.Receive(&message).code(), absl::StatusCode::kDataLoss);
}

TEST(MessageChannel, Send_PeerClosed_IsUnavailableWithoutSignal) {
  Ends ends = MakeEnds();
  MessageChannel left(std::move(ends.left));
  ends.right.Reset();
  EXPECT_EQ(left.Send(v1::RankFinished()).code(), absl::StatusCode::kUnavailable);
}

TEST(MessageChannel, Shutdown_ReceiverBlocked_Returns) {
  Ends ends = MakeEnds();
  MessageChannel left(std::move(ends.left));
  std::thread receiver([&] {
    v1::RankFinished message;
    EXPECT_FALSE(left.Receive(&message).ok());
  });
  left.Shutdown();
  receiver.join();
}

}  // namespace
}  // namespace tandem
