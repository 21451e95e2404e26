#include "common/frame.h"

#include <string>

#include "gtest/gtest.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem {
namespace {

v1::RankFinished Message(const std::string& digest) {
  v1::RankFinished message;
  message.set_parameter_digest(digest);
  return message;
}

TEST(Frame, TakeFrame_BytesArriveOneByOne_ReturnsTheMessageWithTheLast) {
  std::string all;
  ASSERT_TRUE(AppendFrame(Message("abc"), &all).ok());
  std::string arrived;
  v1::RankFinished message;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    arrived.push_back(all[i]);
    EXPECT_FALSE(*TakeFrame(&arrived, &message));
  }
  arrived.push_back(all.back());
  EXPECT_TRUE(*TakeFrame(&arrived, &message));
  EXPECT_EQ(message.parameter_digest(), "abc");
  EXPECT_TRUE(arrived.empty());
}

TEST(Frame, TakeFrame_TwoAtOnce_ComeInOrder) {
  std::string bytes;
  ASSERT_TRUE(AppendFrame(Message("first"), &bytes).ok());
  ASSERT_TRUE(AppendFrame(Message("second"), &bytes).ok());
  v1::RankFinished message;
  ASSERT_TRUE(*TakeFrame(&bytes, &message));
  EXPECT_EQ(message.parameter_digest(), "first");
  ASSERT_TRUE(*TakeFrame(&bytes, &message));
  EXPECT_EQ(message.parameter_digest(), "second");
}

TEST(Frame, TakeFrame_AbsurdLength_IsDataLoss) {
  std::string bytes = "GET / HTTP/1.1";
  v1::RankFinished message;
  EXPECT_EQ(TakeFrame(&bytes, &message).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Frame, TakeFrame_NotAMessage_IsDataLoss) {
  std::string bytes("\x02\0\0\0\xff\xff", 6);
  v1::RankFinished message;
  EXPECT_EQ(TakeFrame(&bytes, &message).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tandem
