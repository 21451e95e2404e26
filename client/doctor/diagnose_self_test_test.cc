#include "client/doctor/clean_facts.h"
#include "client/doctor/diagnose.h"
#include "gtest/gtest.h"

namespace tandem::client::doctor {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> Complain(const v1::SelfTestReport& report) {
  Findings findings("this host");
  DiagnoseSelfTest(report, &findings);
  return Complaints(findings.Take());
}

v1::SelfTestReport Report(const std::string& devices, uint64_t values, uint64_t different) {
  v1::SelfTestReport report;
  report.set_devices(devices);
  v1::SelfTestCase& one = *report.add_cases();
  one.set_name("random bits");
  one.set_values(values);
  one.set_different(different);
  return report;
}

TEST(DiagnoseSelfTestTest, NothingDiffers_IsNoComplaint) {
  EXPECT_THAT(Complain(Report("cpu", 10, 0)), IsEmpty());
}

TEST(DiagnoseSelfTestTest, OneBitThatDiffers_IsAProblem) {
  EXPECT_THAT(Complain(Report("cpu", 10, 1)),
              OneComplaint("PROBLEM sums cpu: random bits: 10 values compared, 1 differ"));
  EXPECT_THAT(Complain(Report("cuda:0,1", 10, 1)),
              OneComplaint("PROBLEM sums cuda:0,1: ", "NCCL_P2P_DISABLE=1"));
}

TEST(DiagnoseSelfTestTest, NothingCompared_IsAProblem) {
  EXPECT_THAT(Complain(Report("cpu", 0, 0)), OneComplaint("PROBLEM "));
}

TEST(DiagnoseSelfTestTest, TestThatDoesNotEnd_IsAProblem) {
  v1::SelfTestReport report = Report("cuda:0,1", 10, 0);
  report.set_problem("rank 1 did not answer in time");
  EXPECT_THAT(Complain(report),
              OneComplaint("PROBLEM ", "rank 1 did not answer", "--self-test --devices cuda:0,1"));
}

}  // namespace
}  // namespace tandem::client::doctor
