#include "worker/command/report_line.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::HasSubstr;

v1::StepReport Read(absl::string_view line) {
  const auto report = ParseReport(line);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(v1::StepReport());
}

TEST(ReportLine, AllKeysInAnyOrder_AreRead) {
  const v1::StepReport report = Read(
      R"({"lr": 0.1, "combined": true, "epoch": 2, "new": [1], "count": 64, "loss_sum": 12.5, "step": 7})");
  EXPECT_EQ(report.step(), 7U);
  EXPECT_EQ(report.loss_sum(), 12.5);
  EXPECT_EQ(report.count(), 64U);
  EXPECT_EQ(report.epoch(), 2U);
  EXPECT_EQ(report.learning_rate(), 0.1);
  EXPECT_TRUE(report.combined());
}

TEST(ReportLine, OnlyWhatIsNeeded_IsEnough) {
  const v1::StepReport report = Read(R"({"step":1,"loss_sum":3,"count":2})");
  EXPECT_EQ(report.loss_sum(), 3.0);
  EXPECT_FALSE(report.combined());
  EXPECT_FALSE(report.has_learning_rate());
  EXPECT_FALSE(report.has_samples_digest());
}

TEST(ReportLine, LossThatDiverged_IsANumberAsPythonWritesIt) {
  EXPECT_TRUE(std::isnan(Read(R"({"step": 1, "loss_sum": NaN, "count": 2})").loss_sum()));
  EXPECT_EQ(Read(R"({"step": 1, "loss_sum": -Infinity, "count": 2})").loss_sum(), -INFINITY);
}

TEST(ReportLine, WordsInTexts_AreLeftAlone) {
  const auto report = ParseReport(R"({"step":2,"loss_sum":NaN,"count":1,"note":"loss: NaN"})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->step(), 2U);
}

TEST(ReportLine, NumbersThatCannotBeCounted_AreRefused) {
  EXPECT_FALSE(ParseReport(R"({"step":1,"loss_sum":1,"count":18446744073709551615})").ok());
  EXPECT_FALSE(ParseReport(R"({"step":9223372036854775808,"loss_sum":1,"count":1})").ok());
}

TEST(ReportLine, Samples_DigestDoesNotDependOnTheirOrderOrOnWhoHasThem) {
  const auto digest = [](const char* samples) {
    return Read(std::string(R"({"step":1,"loss_sum":1,"count":2,"samples":)") + samples + "}")
        .samples_digest();
  };
  EXPECT_EQ(digest("[4, 9]"), digest("[9, 4]"));
  EXPECT_EQ(digest("[4, 9]"), digest("[4]") + digest("[9]"));
  EXPECT_NE(digest("[4, 9]"), digest("[4, 8]"));
  EXPECT_NE(digest("[4, 9]"), digest("[4, 9, 9]"));
}

TEST(ReportLine, DigestOfTheProgramsOwn_IsTakenAsItIs) {
  EXPECT_EQ(Read(R"({"step":1,"loss_sum":1,"count":2,"samples_digest":"ff00"})").samples_digest(),
            0xff00U);
}

TEST(ReportLine, NotAReport_SaysWhatIsWrong) {
  const auto error = [](absl::string_view line) {
    return std::string(ParseReport(line).status().message());
  };
  EXPECT_THAT(error("step 1"), HasSubstr("JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("JSON"));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":2)"), HasSubstr("JSON"));
  EXPECT_THAT(error(R"({"loss_sum":1,"count":2})"), HasSubstr("\"step\""));
  EXPECT_THAT(error(R"({"step":0,"loss_sum":1,"count":2})"), HasSubstr("\"step\""));
  EXPECT_THAT(error(R"({"step":1.5,"loss_sum":1,"count":2})"), HasSubstr("\"step\""));
  EXPECT_THAT(error(R"({"step":1,"count":2})"), HasSubstr("\"loss_sum\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":"1","count":2})"), HasSubstr("\"loss_sum\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1})"), HasSubstr("\"count\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":-2})"), HasSubstr("\"count\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":2,"combined":1})"),
              HasSubstr("\"combined\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":2,"samples":"4"})"),
              HasSubstr("\"samples\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":2,"samples_digest":"xyz"})"),
              HasSubstr("\"samples_digest\""));
  EXPECT_THAT(error(R"({"step":1,"loss_sum":1,"count":2,"lr":"fast"})"), HasSubstr("\"lr\""));
}

}  // namespace
}  // namespace tandem::command
