#include "worker/command/report_collector.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "common/frame.h"
#include "gtest/gtest.h"
#include "worker/command/tcp_address.h"

namespace tandem::command {
namespace {

v1::ReportHello HelloOf(uint32_t rank) {
  v1::ReportHello hello;
  hello.set_job_id("job-1");
  hello.set_attempt(1);
  hello.set_rank(rank);
  hello.set_token("token");
  return hello;
}

absl::Duration CpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

class ReportCollectorTest : public ::testing::Test {
 protected:
  FileDescriptor Connect() {
    const auto address = ParseTcpAddress("127.0.0.1", collector_.port());
    FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(connection.get(), address->get(), address->size), 0);
    return connection;
  }
  static void SayHello(const FileDescriptor& connection, uint32_t rank = 1,
                       const std::string& token = "token") {
    v1::ToRankZero message;
    *message.mutable_hello() = HelloOf(rank);
    message.mutable_hello()->set_token(token);
    std::string bytes;
    EXPECT_TRUE(AppendFrame(message, &bytes).ok());
    EXPECT_EQ(send(connection.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  // Once in a test.
  void RunFor(absl::Duration time) {
    const auto stop = loop_->After(time, [&] { loop_->Stop(); });
    loop_->Run();
  }
  // Whether the collector has closed its end.
  static bool IsSentAway(const FileDescriptor& connection) {
    char byte;
    return recv(connection.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  ReportCollector collector_{loop_.get(), HelloOf(0), /*world_size=*/2, *ListenOn("127.0.0.1", 0),
                             [](const v1::RankProgress&) {}};
};

TEST_F(ReportCollectorTest, PeerThatSaysNothing_IsSentAwayAndARankIsNot) {
  const FileDescriptor silent = Connect(), rank = Connect();
  SayHello(rank);
  RunFor(ReportCollector::kHelloPatience + absl::Milliseconds(500));
  EXPECT_TRUE(IsSentAway(silent));
  EXPECT_FALSE(IsSentAway(rank));
}

TEST_F(ReportCollectorTest, RankWithoutTheToken_IsSentAwayAndTakesNobodysPlace) {
  const FileDescriptor without = Connect(), other = Connect(), rank = Connect();
  SayHello(without, 1, "");
  SayHello(other, 1, "tokem");
  SayHello(rank);
  RunFor(absl::Milliseconds(500));
  EXPECT_TRUE(IsSentAway(without));
  EXPECT_TRUE(IsSentAway(other));
  EXPECT_FALSE(IsSentAway(rank));
}

TEST_F(ReportCollectorTest, MorePeersThanMayBe_OldestStrangersAreSentAway) {
  const FileDescriptor rank = Connect();
  SayHello(rank);
  // Of the two ranks that may be there, one is.
  constexpr size_t kRoom = ReportCollector::kMaxStrangers + 1;
  std::vector<FileDescriptor> strangers;
  for (size_t i = 0; i < kRoom + 2; ++i) strangers.push_back(Connect());
  RunFor(absl::Milliseconds(500));
  for (size_t i = 0; i < strangers.size(); ++i) EXPECT_EQ(IsSentAway(strangers[i]), i < 2) << i;
  EXPECT_FALSE(IsSentAway(rank));
}

TEST_F(ReportCollectorTest, NoDescriptorIsLeft_TriesAgainWithoutBeingBusy) {
  const FileDescriptor stranger = Connect();
  SayHello(stranger, /*rank=*/7);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  bool was_sent_away_early = true;
  const auto release = loop_->After(absl::Milliseconds(500), [&] {
    was_sent_away_early = IsSentAway(stranger);
    setrlimit(RLIMIT_NOFILE, &limit);
  });
  const absl::Duration before = CpuTime();
  RunFor(absl::Seconds(1));
  EXPECT_LT(CpuTime() - before, absl::Milliseconds(100));
  EXPECT_FALSE(was_sent_away_early);
  EXPECT_TRUE(IsSentAway(stranger));
}

}  // namespace
}  // namespace tandem::command
