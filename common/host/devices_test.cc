#include "common/host/devices.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Seconds(30);

class DevicesTest : public ::testing::Test {
 protected:
  std::string WriteProgram(const std::string& name, const std::string& script) {
    const std::string path = place_.File(name);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  v1::HostFacts Probe(const std::string& script, absl::Duration patience = kPatience) {
    v1::HostFacts facts;
    AddDevices(WriteProgram("tandem-trainer", script), patience, &facts);
    return facts;
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
};

TEST_F(DevicesTest, TrainerThatProbes_IsBelieved) {
  const v1::HostFacts facts = Probe(
      R"([ "$*" = --probe ] && echo '{"devices": [{"kind": "cuda", "model": "H200", "peers": [1]}],
          "libraries": [{"kind": "cuda", "runtimeVersion": "13.0"}], "build": "b", "new": 1}')");
  EXPECT_EQ(facts.probe_problem(), "");
  ASSERT_EQ(facts.probe().devices_size(), 1);
  EXPECT_EQ(facts.probe().devices(0).model(), "H200");
  EXPECT_EQ(facts.probe().devices(0).peers(0), 1u);
  EXPECT_EQ(facts.probe().libraries(0).runtime_version(), "13.0");
}

TEST_F(DevicesTest, TrainerThatCrashesHangsOrPrintsNonsense_IsAProblemAndNoMore) {
  EXPECT_THAT(Probe("kill -SEGV $$").probe_problem(),
              HasSubstr("tandem-trainer was ended by signal 11"));
  EXPECT_THAT(Probe("sleep 600", absl::Milliseconds(20)).probe_problem(),
              HasSubstr("tandem-trainer did not answer in time"));
  const v1::HostFacts nonsense = Probe("echo '{\"devices\": [{\"kind\": \"cuda\"}, oops'");
  EXPECT_THAT(nonsense.probe_problem(), HasSubstr("something else than a report"));
  EXPECT_THAT(nonsense.probe().devices(), IsEmpty());
}

TEST_F(DevicesTest, TrainerThatIsNotThere_IsSaid) {
  v1::HostFacts facts;
  AddDevices(place_.File("none"), kPatience, &facts);
  EXPECT_TRUE(facts.trainer_missing());
  EXPECT_THAT(facts.probe_problem(), HasSubstr(place_.File("none")));
}

TEST_F(DevicesTest, Memory_IsAskedOfAProgramInPath) {
  WriteProgram("fake-smi",
               "case $1 in --query-compute-apps=*) echo 'GPU-1, 4711, python3, 1200';; esac");
  WriteProgram("broken-smi", "echo 'Failed to initialize NVML' >&2; exit 9");
  const std::string path = std::getenv("PATH");
  setenv("PATH", (place_.path() + ":" + path).c_str(), 1);
  const v1::DeviceMemoryUse use = AskForDeviceMemory("fake-smi", kPatience);
  const v1::DeviceMemoryUse broken = AskForDeviceMemory("broken-smi", kPatience);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(use.problem(), "");
  ASSERT_EQ(use.processes_size(), 1);
  EXPECT_EQ(use.processes(0).pid(), 4711);
  EXPECT_EQ(broken.problem(), "broken-smi ended with exit code 9: Failed to initialize NVML");
  EXPECT_THAT(AskForDeviceMemory("fake-smi", kPatience).problem(),
              HasSubstr("no fake-smi in PATH"));
}

TEST_F(DevicesTest, Cards_AreFoundOnTheBus) {
  const auto write = [&](const std::string& device, const char* vendor, const char* kind) {
    std::filesystem::create_directory(place_.File(device));
    std::ofstream(place_.File(device + "/vendor")) << vendor << "\n";
    std::ofstream(place_.File(device + "/class")) << kind << "\n";
  };
  write("0000:1b:00.0", "0x10de", "0x030200");
  write("0000:1a:00.0", "0x1002", "0x120000");
  write("0000:02:00.0", "0x10de", "0x060400");
  write("0000:03:00.0", "0x8086", "0x030000");
  const auto cards = AcceleratorsIn(place_.path());
  // A processor of another vendor, for which there is no kind of device, is none that anybody misses.
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].bus_id(), "0000:1b:00.0");
  EXPECT_EQ(cards[0].vendor(), "NVIDIA");
  EXPECT_THAT(AcceleratorsIn(place_.File("none")), IsEmpty());
}

TEST(DeviceMemoryTest, Lines_AreProcesses) {
  const auto use =
      ParseDeviceMemory("GPU-1, 7, /opt/my, app, 3\n\nGPU-2, [N/A], [Not Found], [N/A]\n");
  ASSERT_TRUE(use.ok()) << use.status();
  ASSERT_EQ(use->processes_size(), 2);
  EXPECT_EQ(use->processes(0).uuid(), "GPU-1");
  EXPECT_EQ(use->processes(0).pid(), 7);
  EXPECT_EQ(use->processes(0).name(), "/opt/my,app");
  EXPECT_EQ(use->processes(0).bytes(), uint64_t{3} << 20);
  EXPECT_EQ(use->processes(1).pid(), 0);
  EXPECT_EQ(ParseDeviceMemory("")->processes_size(), 0);
}

TEST(DeviceMemoryTest, OtherText_IsAnError) {
  EXPECT_FALSE(ParseDeviceMemory("No devices were found\n").ok());
  EXPECT_FALSE(ParseDeviceMemory("GPU-1, x, name, 3\n").ok());
}

}  // namespace
}  // namespace tandem::host
