#include "worker/command/report_token.h"

#include "gtest/gtest.h"

namespace tandem::command {
namespace {

TEST(ReportToken, TwoOfThem_AreNotTheSame) {
  const std::string one = NewReportToken(), other = NewReportToken();
  EXPECT_EQ(one.size(), 16U);
  EXPECT_TRUE(IsSameToken(one, one));
  EXPECT_FALSE(IsSameToken(one, other));
}

TEST(ReportToken, BeginningOrNothing_IsNotTheWhole) {
  EXPECT_FALSE(IsSameToken("abc", "ab"));
  EXPECT_FALSE(IsSameToken("abc", "abd"));
  EXPECT_FALSE(IsSameToken("", ""));
}

}  // namespace
}  // namespace tandem::command
