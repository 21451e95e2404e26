// `tandem doctor` as people and scripts use it, beside trainers that say what a test wants to hear.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/interrupts.h"
#include "client/local_cluster.h"
#include "client/testing/process_fixture.h"
#include "common/helper_process.h"
#include "common/version.h"
#include "tandem/v1/doctor.pb.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGoodSums[] = R"({"cases": [{"name": "random bits", "values": 7}]})";
constexpr char kCpuOnly[] = "{}";
constexpr char kTwoGpusApart[] = R"({
  "libraries": [{"kind": "cuda", "runtimeVersion": "13.0", "driverVersion": "13.0", "collectives": "NCCL 2.28.9"}],
  "devices": [{"kind": "cuda", "index": 0, "model": "NVIDIA H200", "uuid": "GPU-a", "totalBytes": 100, "freeBytes": 100},
              {"kind": "cuda", "index": 1, "model": "NVIDIA H200", "uuid": "GPU-b", "totalBytes": 100, "freeBytes": 50}]})";

class DoctorProcessTest : public ProcessTest {
 protected:
  DoctorProcessTest() {
    RunACopy();
    coordinator_ = "";
  }

  // A trainer that answers so.
  void WriteTrainer(const std::string& probe, const std::string& sums = kGoodSums) {
    WriteProgram("tandem-trainer",
                 absl::StrCat("case $1 in\n--probe) cat <<'END'\n", probe,
                              "\nEND\n;;\n--self-test) echo \"$*\" >> ", folder_,
                              "/asked; cat <<'END'\n", sums, "\nEND\n;;\n*) exit 2;;\nesac"));
  }

  v1::DoctorReport Report(const std::string& options = "") {
    const Result result = Tandem("doctor --json " + options);
    v1::DoctorReport report;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok())
        << result.out << result.err;
    const bool has_problem =
        std::any_of(report.findings().begin(), report.findings().end(),
                    [](const auto& one) { return one.severity() == v1::SEVERITY_PROBLEM; });
    EXPECT_EQ(result.code, has_problem ? 1 : 0) << result.out;
    return report;
  }

  // What was found of this aspect; unset if nothing was.
  static v1::HostFinding Of(const v1::DoctorReport& report, const std::string& aspect,
                            v1::Severity severity = v1::SEVERITY_UNSPECIFIED) {
    for (const v1::HostFinding& finding : report.findings()) {
      const bool fits = severity == v1::SEVERITY_UNSPECIFIED || finding.severity() == severity;
      if (finding.aspect() == aspect && fits) return finding;
    }
    return {};
  }
};

TEST_F(DoctorProcessTest, HostWithoutGpu_SaysWhatIsNotCheckedAndExitsWith0) {
  WriteTrainer(kCpuOnly);
  const Result result = Tandem("doctor");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("this host ("));
  EXPECT_THAT(result.out, HasSubstr("random bits: 7 values compared, 0 differ"));
  EXPECT_THAT(result.out, HasSubstr("no problem"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b"))) << "colours are for terminals";
  EXPECT_EQ(Contents(folder_ + "/asked"), "--self-test --devices cpu --json\n");
}

TEST_F(DoctorProcessTest, TwoGpusWithoutP2P_AreAWarningWithWhatHelps) {
  WriteTrainer(kTwoGpusApart);
  const v1::DoctorReport report = Report();
  EXPECT_EQ(Of(report, "P2P").severity(), v1::SEVERITY_WARNING);
  EXPECT_THAT(Of(report, "P2P").found(), HasSubstr("cuda:0 and cuda:1"));
  EXPECT_THAT(Of(report, "P2P").remedy(), HasSubstr("NCCL_P2P_DISABLE=1"));
  EXPECT_THAT(Of(report, "devices", v1::SEVERITY_WARNING).found(), HasSubstr("cuda:1"));
  ASSERT_EQ(report.self_tests_size(), 2);
  EXPECT_EQ(report.self_tests(1).devices(), "cuda:0,1");
  EXPECT_EQ(report.host().probe().devices_size(), 2);
}

TEST_F(DoctorProcessTest, SumsThatDiffer_AreAProblem) {
  WriteTrainer(kCpuOnly, R"({"cases": [{"name": "subnormals", "values": 7, "different": 2}]})");
  EXPECT_THAT(Of(Report(), "sums cpu").found(),
              HasSubstr("subnormals: 7 values compared, 2 differ"));
  EXPECT_EQ(Tandem("doctor").code, 1);
  EXPECT_EQ(Tandem("doctor --no-self-test").code, 0);
}

TEST_F(DoctorProcessTest, TrainerThatCrashes_IsAProblemAndTheRestIsStillThere) {
  WriteProgram("tandem-trainer", "kill -SEGV $$");
  const v1::DoctorReport report = Report();
  EXPECT_THAT(Of(report, "devices").found(), HasSubstr("tandem-trainer was ended by signal 11"));
  EXPECT_THAT(Of(report, "sums cpu").found(), HasSubstr("signal 11"));
  EXPECT_NE(Of(report, "/dev/shm").found(), "");
}

TEST_F(DoctorProcessTest, NoTrainer_IsAWarning) {
  const v1::DoctorReport report = Report();
  EXPECT_EQ(Of(report, "devices").severity(), v1::SEVERITY_WARNING);
  EXPECT_EQ(report.self_tests_size(), 0);
}

TEST_F(DoctorProcessTest, AddressThatIsNotThisHosts_IsAProblem) {
  WriteTrainer(kCpuOnly);
  EXPECT_EQ(Of(Report("--advertise-address 203.0.113.7"), "address").severity(),
            v1::SEVERITY_PROBLEM);
  EXPECT_EQ(Of(Report("--advertise-address 127.0.0.1"), "address").severity(), v1::SEVERITY_OK);
}

TEST_F(DoctorProcessTest, NoCoordinatorWhereOneIsNamed_ExitsWith3) {
  WriteTrainer(kCpuOnly);
  const Result result =
      Tandem(absl::StrCat("doctor --retry-for 0 --coordinator ", nobody_.address()));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr(nobody_.address()));
}

TEST_F(DoctorProcessTest, TwoWorkers_AreJudgedEachAndTogether) {
  WriteTrainer(kTwoGpusApart);
  std::filesystem::copy_file(TANDEMD_BINARY, folder_ + "/tandemd");
  std::filesystem::copy_file(TANDEM_WORKER_BINARY, folder_ + "/tandem-worker");
  std::filesystem::copy_file(TANDEM_COMMAND_BINARY, folder_ + "/tandem-command");
  Interrupts interrupts;
  const auto cluster =
      *LocalCluster::Start({.folder_of_programs = folder_, .slots = "cpu:1"}, &interrupts);
  coordinator_ = cluster->address();
  const auto other = *HelperProcess::Start(
      {.path = folder_ + "/tandem-worker",
       .arguments = {"--coordinator", coordinator_, "--slots", "cpu:1", "--name", "other",
                     "--log-dir", folder_ + "/other-logs"}});
  v1::DoctorReport report;
  const auto all_have_spoken = [&] {
    report = Report("--no-self-test");
    return report.workers_size() == 2 && report.workers(0).has_facts() &&
           report.workers(1).has_facts();
  };
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!all_have_spoken() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
  ASSERT_EQ(report.workers_size(), 2);
  EXPECT_EQ(report.workers(0).worker(), "local");
  for (const v1::WorkerHost& worker : report.workers()) {
    EXPECT_EQ(worker.facts().version(), kVersion);
    EXPECT_EQ(worker.facts().slots(0), "cpu:0");
    EXPECT_EQ(worker.facts().probe().devices_size(), 2);
    EXPECT_EQ(worker.facts().network().advertise_address(), "127.0.0.1");
  }
  const Result text = Tandem("doctor --no-self-test");
  EXPECT_THAT(text.out, HasSubstr("\nworker local ("));
  EXPECT_THAT(text.out, HasSubstr("\nworker other ("));
  EXPECT_THAT(text.out, HasSubstr("\nall workers\n"));
  EXPECT_THAT(text.out, HasSubstr("all have Tandem "));
  EXPECT_THAT(text.out, HasSubstr("local and other share the host"));
  EXPECT_THAT(text.out, HasSubstr("of the coordinator's, the way of one message included"));
}

}  // namespace
}  // namespace tandem::client
