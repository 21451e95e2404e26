// The self-test on devices, with real processes, on the stand-in for a device and for NCCL.
#include <google/protobuf/util/json_util.h>

#include <cstdlib>

#include "common/helper_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/doctor.pb.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;

v1::SelfTestReport RunOn(const std::string& devices) {
  const auto printed = AskProgram(STAND_IN_TRAINER, {"--self-test", "--devices", devices, "--json"},
                                  absl::Minutes(2));
  EXPECT_TRUE(printed.ok()) << printed.status();
  v1::SelfTestReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(printed.value_or(""), &report).ok());
  return report;
}

TEST(SelfTestProcessTest, TwoDevices_HaveTheBitsOfTheDefinition) {
  const v1::SelfTestReport report = RunOn("standin:0,1");
  EXPECT_EQ(report.problem(), "");
  EXPECT_EQ(report.devices(), "standin:0,1");
  ASSERT_EQ(report.cases_size(), 5);
  for (const v1::SelfTestCase& one : report.cases()) {
    EXPECT_EQ(one.values(), 8 * 60'243u) << one.name();
    EXPECT_EQ(one.different(), 0u) << one.name() << ": " << one.first_difference();
  }
}

// To standard output, as NCCL does: not among the answers.
TEST(SelfTestProcessTest, LibraryThatPrints_ChangesNothing) {
  setenv("NCCL_DEBUG", "WARN", 1);
  const v1::SelfTestReport report = RunOn("standin:0,1");
  unsetenv("NCCL_DEBUG");
  EXPECT_EQ(report.problem(), "");
  EXPECT_EQ(report.cases_size(), 5);
}

TEST(SelfTestProcessTest, NoLibraryThatConnects_IsTheProblem) {
  setenv("TANDEM_STANDIN_COLLECTIVES", "/no/such/libnccl.so.2", 1);
  const v1::SelfTestReport report = RunOn("standin:0,1");
  unsetenv("TANDEM_STANDIN_COLLECTIVES");
  EXPECT_THAT(report.problem(), HasSubstr("/no/such/libnccl.so.2"));
}

TEST(SelfTestProcessTest, DeviceThatIsNotThere_IsTheProblem) {
  EXPECT_THAT(RunOn("standin:0,7").problem(), HasSubstr("there is no device standin:7"));
}

}  // namespace
}  // namespace tandem::trainer
