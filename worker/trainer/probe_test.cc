// `tandem-trainer --probe`, run as the agent runs it.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tandem/v1/host.pb.h"
#include "worker/process/testing/test_agent.h"

namespace tandem::trainer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

v1::ProbeReport ProbeBy(const std::string& trainer) {
  const Exited exited = RunProgram(trainer, {"--probe"});
  EXPECT_EQ(exited.code, 0) << exited.output;
  v1::ProbeReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(exited.output, &report).ok())
      << exited.output;
  return report;
}

using Libraries = std::map<std::string, v1::DeviceLibraryFacts>;

Libraries LibrariesOf(const v1::ProbeReport& report) {
  Libraries libraries;
  for (const v1::DeviceLibraryFacts& facts : report.libraries()) libraries[facts.kind()] = facts;
  return libraries;
}

TEST(ProbeTest, AnyBuild_SaysItsVersions) {
  EXPECT_THAT(ProbeBy(TRAINER).build(), HasSubstr("LibTorch 2."));
}

// A trainer among the libraries of worker/device/test_libraries.
class AmongTestLibraries : public testing::Test {
 protected:
  AmongTestLibraries() {
    // A link of its own for each process of this test.
    const std::filesystem::path trainer =
        std::filesystem::path(TEST_LIBRARIES) / absl::StrCat("tandem-trainer-", getpid());
    std::filesystem::create_hard_link(TRAINER, trainer);
    libraries_ = LibrariesOf(ProbeBy(trainer));
    std::filesystem::remove(trainer);
  }
  Libraries& libraries() { return libraries_; }

 private:
  Libraries libraries_;
};

TEST_F(AmongTestLibraries, UnusableOnes_AreProblems) {
  EXPECT_EQ(libraries().size(), 4);
  EXPECT_THAT(libraries()["broken"].problem(), HasSubstr("libtandem-broken.so"));
  EXPECT_THAT(libraries()["empty"].problem(), HasSubstr("TandemDeviceLibrary"));
  EXPECT_THAT(libraries()["old"].problem(), HasSubstr("0.0.7"));
}

TEST_F(AmongTestLibraries, GoodOne_IsDescribed) {
  const v1::DeviceLibraryFacts& good = libraries()["good"];
  EXPECT_THAT(good.problem(), IsEmpty());
  EXPECT_EQ(good.visibility_variable(), "TEST_VISIBLE_DEVICES");
  EXPECT_THAT(good.collectives(), IsEmpty());
  EXPECT_THAT(good.collectives_problem(), HasSubstr("libtest.so"));
}

#ifdef TANDEM_CUDA
TEST(ProbeTest, CudaBuild_ListsDevicesOrSaysInOneLineWhyNot) {
  const v1::ProbeReport report = ProbeBy(TRAINER);
  const v1::DeviceLibraryFacts cuda = LibrariesOf(report)["cuda"];
  EXPECT_THAT(cuda.collectives(), StartsWith("NCCL 2."));
  EXPECT_EQ(cuda.visibility_variable(), "CUDA_VISIBLE_DEVICES");
  EXPECT_GE(cuda.environment_size(), 1);
  EXPECT_EQ(cuda.problem().empty(), report.devices_size() > 0);
  EXPECT_THAT(cuda.problem(), Not(HasSubstr("\n")));
  if (cuda.driver_version().empty()) {
    EXPECT_THAT(cuda.problem(), HasSubstr("no NVIDIA driver"));
  }
}
#else
TEST(ProbeTest, BuildForTheCpu_HasNoDevicesAndNoLibraries) {
  const v1::ProbeReport report = ProbeBy(TRAINER);
  EXPECT_THAT(report.devices(), IsEmpty());
  EXPECT_THAT(report.libraries(), IsEmpty());
}
#endif

}  // namespace
}  // namespace tandem::trainer
