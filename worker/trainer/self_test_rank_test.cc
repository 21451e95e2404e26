#include "worker/trainer/self_test_rank.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/ddp/loopback_transport.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;

// Both ranks, as threads.
std::vector<v1::SelfTestReport> RunBoth(ddp::Reduction reduction) {
  std::vector<v1::SelfTestReport> reports(2);
  ddp::RunRanks(2, [&](ddp::Transport& transport) {
    auto report = RunSelfTestRank(transport, nullptr, reduction);
    ASSERT_TRUE(report.ok()) << report.status();
    reports[transport.rank().value()] = *std::move(report);
  });
  return reports;
}

TEST(SelfTestRankTest, RealReduction_HasTheBitsOfTheDefinition) {
  for (const v1::SelfTestReport& report : RunBoth(ddp::Reduction::kTree)) {
    ASSERT_EQ(report.cases_size(), 5);
    for (const v1::SelfTestCase& one : report.cases()) {
      EXPECT_EQ(one.values(), 4 * 60'243u) << one.name();
      EXPECT_EQ(one.different(), 0u) << one.name() << ": " << one.first_difference();
    }
  }
}

// The control: a reduction that adds in another order is found out by the same test.
TEST(SelfTestRankTest, ReductionInAnotherOrder_IsFound) {
  for (const v1::SelfTestReport& report : RunBoth(ddp::Reduction::kAllReduce)) {
    EXPECT_GT(report.cases(0).different(), 100u);
    EXPECT_THAT(report.cases(0).first_difference(), HasSubstr("8 logical ranks"));
    EXPECT_GT(report.cases(4).different(), 0u);
  }
}

}  // namespace
}  // namespace tandem::trainer
