// `tandem doctor` on this very host, with the real trainer.
#include <google/protobuf/util/json_util.h>
#include <signal.h>

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/doctor.pb.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

class DoctorTest : public ::testing::Test {
 protected:
  CommandResult Run(std::vector<std::string> argv, absl::Duration timeout = absl::Seconds(120)) {
    Process process({argv, {}, temporary_.path()});
    const auto code = process.Wait(timeout);
    return {code.value_or(-1), process.Stdout(), process.Stderr()};
  }

  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-e2e");
};

TEST_F(DoctorTest, SelfTestOnTheCpu_FindsNoOtherBit) {
  const CommandResult result = Run({Binary("tandem-trainer"), "--self-test"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"random bits", "subnormals", "zeros of both signs",
                           "huge and tiny values", "absent gradients"}) {
    EXPECT_THAT(result.out,
                HasSubstr(std::string(name) + " (cpu): 481944 values compared, 0 differ\n"));
  }
}

TEST_F(DoctorTest, SelfTestThatIsKilled_LeavesNoRank) {
  const std::string mark = "TANDEM_DOCTOR_TEST=" + temporary_.path();
  {
    Process process({{Binary("tandem-trainer"), "--self-test"},
                     {{"TANDEM_DOCTOR_TEST", temporary_.path()}},
                     temporary_.path()});
    ASSERT_TRUE(Eventually(absl::Seconds(60), [&] { return ProcessesWith(mark).size() >= 3; }));
    kill(process.pid(), SIGKILL);
  }
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return ProcessesWith(mark).empty(); }));
}

TEST_F(DoctorTest, DevicesThatAreNotThere_AreRefusedInOneLine) {
  const CommandResult result =
      Run({Binary("tandem-trainer"), "--self-test", "--devices", "nothing:0,1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no device nothing:0"));
  EXPECT_EQ(Run({Binary("tandem-trainer"), "--self-test", "--devices"}).exit_code, 2);
}

TEST_F(DoctorTest, ThisHost_IsExaminedWithItsSums) {
  const CommandResult result = Run({Binary("tandem"), "doctor", "--json"});
  v1::DoctorReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok())
      << result.out << result.err;
  ASSERT_GE(report.self_tests_size(), 1);
  EXPECT_EQ(report.self_tests(0).cases_size(), 5);
  EXPECT_EQ(report.self_tests(0).problem(), "");
  // Whatever else runs on this host may be a problem.
  const bool is_fit = std::none_of(
      report.findings().begin(), report.findings().end(),
      [](const v1::HostFinding& finding) { return finding.severity() == v1::SEVERITY_PROBLEM; });
  EXPECT_EQ(result.exit_code, is_fit ? 0 : 1) << result.out;
}

TEST_F(DoctorTest, TwoWorkers_AreShownWithWhatTheyHave) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(1);
  cluster.StartWorker(2);
  v1::ListHostsResponse hosts;
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    grpc::ClientContext context;
    return cluster.stub().ListHosts(&context, {}, &hosts).ok() && hosts.hosts_size() == 2 &&
           hosts.hosts(0).has_facts() && hosts.hosts(1).has_facts();
  }));
  const CommandResult result = cluster.Tandem({"doctor", "--no-self-test"});
  EXPECT_THAT(result.out, HasSubstr("\nworker worker-0 ("));
  EXPECT_THAT(result.out, HasSubstr("\nworker worker-1 ("));
  EXPECT_THAT(result.out, HasSubstr("worker-0 and worker-1 share the host"));
  EXPECT_EQ(hosts.hosts(1).facts().slots_size(), 2);
}

}  // namespace
}  // namespace tandem::testing
