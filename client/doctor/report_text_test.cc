#include "client/doctor/report_text.h"

#include "client/doctor/findings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::client::doctor {
namespace {

std::vector<v1::HostFinding> Sample() {
  Findings host("this host (gpu-3)"), workers("all workers");
  host.Ok("clock", "is right");
  host.Problem("/dev/shm", "64 MiB", "make it larger");
  host.NotChecked("devices", "no library");
  workers.Warning("models", "differ", "use one");
  std::vector<v1::HostFinding> all = host.Take();
  for (const v1::HostFinding& finding : workers.Take()) all.push_back(finding);
  return all;
}

TEST(ReportTextTest, Findings_StandInColumnsBelowTheirSubject) {
  EXPECT_EQ(FormatFindings(Sample(), false),
            "this host (gpu-3)\n"
            "  ok           clock     is right\n"
            "  problem      /dev/shm  64 MiB\n"
            "                         -> make it larger\n"
            "  not checked  devices   no library\n"
            "\n"
            "all workers\n"
            "  warning      models    differ\n"
            "                         -> use one\n"
            "\n"
            "1 problem, 1 warning, 1 not checked\n");
}

TEST(ReportTextTest, Nothing_IsNoProblem) { EXPECT_EQ(FormatFindings({}, false), "no problem\n"); }

TEST(ReportTextTest, Colours_AreThereWhenWanted) {
  EXPECT_THAT(FormatFindings(Sample(), true), ::testing::HasSubstr("\x1b[31mproblem"));
}

}  // namespace
}  // namespace tandem::client::doctor
