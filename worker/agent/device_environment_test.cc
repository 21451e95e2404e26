#include "worker/agent/device_environment.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Two devices of kind "cuda", connected by a library, and one of kind "xpu".
v1::ProbeReport Host() {
  v1::ProbeReport host;
  v1::DeviceLibraryFacts& cuda = *host.add_libraries();
  cuda.set_kind("cuda");
  cuda.set_visibility_variable("CUDA_VISIBLE_DEVICES");
  cuda.set_collectives("NCCL 2.28.9");
  cuda.add_environment()->set_name("WORKSPACE");
  cuda.mutable_environment(0)->set_value(":4096:8");
  v1::DeviceLibraryFacts& xpu = *host.add_libraries();
  xpu.set_kind("xpu");
  xpu.set_visibility_variable("XPU_VISIBLE_DEVICES");
  for (const char* slot : {"cuda0", "cuda1", "xpu0"}) {
    v1::DeviceFacts& device = *host.add_devices();
    const std::string name = slot;
    device.set_kind(name.substr(0, name.size() - 1));
    device.set_index(static_cast<uint32_t>(name.back() - '0'));
    device.set_uuid(absl::StrCat("uuid-of-", name));
  }
  return host;
}

v1::Prepare RankOn(const std::string& slot, const std::vector<std::string>& local_slots) {
  v1::Prepare prepare;
  prepare.set_slot(slot);
  for (const std::string& local : local_slots) prepare.add_local_slots(local);
  prepare.set_group_world_size(1);
  return prepare;
}

std::map<std::string, std::string> Environment(const v1::Prepare& prepare,
                                               const v1::ProbeReport& host = Host(),
                                               const std::set<std::string>& own = {}) {
  std::map<std::string, std::string> environment;
  for (const auto& variable :
       DeviceEnvironment(prepare, host, [&](const auto& name) { return own.contains(name); })) {
    EXPECT_TRUE(environment.emplace(variable.name(), variable.value()).second) << variable.name();
  }
  return environment;
}

TEST(DeviceEnvironment, Trainer_SeesItsOwnDeviceAndHasWhatItNeeds) {
  EXPECT_THAT(Environment(RankOn("cuda:1", {"cuda:0", "cuda:1"})),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda1"),
                                   Pair("XPU_VISIBLE_DEVICES", ""), Pair("WORKSPACE", ":4096:8"),
                                   Pair("NCCL_SOCKET_IFNAME", "lo"), Pair("NCCL_DEBUG", "WARN")));
}

TEST(DeviceEnvironment, RanksElsewhereToo_TheirConnectionsMayLeaveTheHost) {
  v1::Prepare prepare = RankOn("cuda:0", {"cuda:0"});
  prepare.set_group_world_size(2);
  EXPECT_THAT(Environment(prepare), Not(Contains(Key("NCCL_SOCKET_IFNAME"))));
  EXPECT_THAT(Environment(prepare), Contains(Pair("NCCL_DEBUG", "WARN")));
}

TEST(DeviceEnvironment, WhatTheAgentWasGiven_IsLeftAsItIs) {
  const auto environment =
      Environment(RankOn("cuda:0", {"cuda:0"}), Host(),
                  {"NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES"});
  EXPECT_THAT(environment, Not(Contains(Key("NCCL_DEBUG"))));
  EXPECT_THAT(environment, Not(Contains(Key("NCCL_SOCKET_IFNAME"))));
  // But which device is the rank's is not for the environment to say.
  EXPECT_THAT(environment, Contains(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda0")));
}

TEST(DeviceEnvironment, KindThatIsNotConnected_HasNothingAboutConnections) {
  EXPECT_THAT(Environment(RankOn("xpu:0", {"xpu:0"})),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""),
                                   Pair("XPU_VISIBLE_DEVICES", "uuid-of-xpu0")));
}

TEST(DeviceEnvironment, CpuSlot_SeesNoDevice) {
  EXPECT_THAT(
      Environment(RankOn("cpu:0", {"cpu:0"})),
      UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""), Pair("XPU_VISIBLE_DEVICES", "")));
  EXPECT_THAT(Environment(RankOn("cpu:0", {"cpu:0"}), {}),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "")));
}

TEST(DeviceEnvironment, Program_SeesTheDevicesOfAllRanksHereAndIsLeftAloneOtherwise) {
  v1::Prepare prepare = RankOn("cuda:1", {"cuda:1", "cuda:0"});
  prepare.mutable_spec()->mutable_command();
  EXPECT_THAT(Environment(prepare),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda1,uuid-of-cuda0"),
                                   Pair("XPU_VISIBLE_DEVICES", "")));
}

}  // namespace
}  // namespace tandem::agent
