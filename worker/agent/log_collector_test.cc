#include "worker/agent/log_collector.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// What was printed before the collector looks for the first time must fit into a pipe: 64 KiB.
class LogCollectorTest : public ::testing::Test {
 protected:
  void Collect(const std::string& out, const std::string& err) {
    LogCollector collector(loop_.get(), &clock_, {.directory = temporary_.path()},
                           {JobId("job-1"), AttemptNumber(1), Rank(0)},
                           {PipeWith(out), PipeWith(err)},
                           [this](v1::RankLog log) { batches_.push_back(std::move(log)); });
    collector.Drain();
    last_stderr_lines_ = {collector.last_stderr_lines().begin(),
                          collector.last_stderr_lines().end()};
  }

  int CollectedLines() const {
    int count = 0;
    for (const v1::RankLog& batch : batches_) count += batch.lines_size();
    return count;
  }

  static FileDescriptor PipeWith(const std::string& bytes) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const FileDescriptor writer(ends[1]);
    EXPECT_EQ(write(writer.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return FileDescriptor(ends[0]);
  }

  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-test");
  FakeClock clock_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::vector<v1::RankLog> batches_;
  std::vector<std::string> last_stderr_lines_;
};

TEST_F(LogCollectorTest, Lines_CarryTheirStreamAndTime) {
  clock_.Advance(absl::Seconds(5));
  Collect("one\n", "two\n");
  ASSERT_THAT(batches_, SizeIs(1));
  ASSERT_THAT(batches_[0].lines(), SizeIs(2));
  EXPECT_EQ(batches_[0].lines(0).stream(), v1::LOG_STREAM_STDOUT);
  EXPECT_EQ(batches_[0].lines(0).time().seconds(), 5);
  EXPECT_EQ(batches_[0].lines(1).stream(), v1::LOG_STREAM_STDERR);
  EXPECT_EQ(batches_[0].lines(1).text(), "two");
  EXPECT_THAT(last_stderr_lines_, ElementsAre("two"));
}

TEST_F(LogCollectorTest, FloodOfEmptyLines_IsSentInSmallMessages) {
  Collect(std::string(60000, '\n'), "");
  EXPECT_EQ(CollectedLines(), 60000);
  for (const v1::RankLog& batch : batches_) {
    EXPECT_LE(batch.lines_size(), 1024);
    EXPECT_LT(batch.ByteSizeLong(), 256U << 10);
  }
}

TEST_F(LogCollectorTest, FloodOfShortLines_CountsWholeLinesAndNotOnlyTheirText) {
  clock_.Advance(absl::Seconds(1800000000) + absl::Nanoseconds(999999999));
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += std::string(59, 'x') + "\n";
  Collect(lines, "");
  EXPECT_EQ(CollectedLines(), 1000);
  for (const v1::RankLog& batch : batches_) EXPECT_LT(batch.ByteSizeLong(), 66U << 10);
}

TEST_F(LogCollectorTest, LongLinesOnStderr_ObituaryIsCut) {
  Collect("", std::string(60000, 'x'));
  EXPECT_THAT(last_stderr_lines_, Each(SizeIs(1 << 10)));
}

}  // namespace
}  // namespace tandem::agent
