#include "common/host/device_environment.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::host {
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

std::map<std::string, std::string> ByName(const std::vector<v1::EnvironmentVariable>& variables) {
  std::map<std::string, std::string> by_name;
  for (const auto& variable : variables) {
    EXPECT_TRUE(by_name.emplace(variable.name(), variable.value()).second) << variable.name();
  }
  return by_name;
}

std::map<std::string, std::string> OfTrainer(const std::string& slot, bool all_are_here = true,
                                             const v1::ProbeReport& host = Host(),
                                             const std::set<std::string>& own = {}) {
  return ByName(TrainerEnvironment(slot, host, all_are_here,
                                   [&](const auto& name) { return own.contains(name); }));
}

TEST(DeviceEnvironment, Trainer_SeesItsOwnDeviceAndHasWhatItNeeds) {
  EXPECT_THAT(OfTrainer("cuda:1"),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda1"),
                                   Pair("XPU_VISIBLE_DEVICES", ""), Pair("WORKSPACE", ":4096:8"),
                                   Pair("NCCL_SOCKET_IFNAME", "lo"), Pair("NCCL_DEBUG", "WARN")));
}

TEST(DeviceEnvironment, RanksElsewhereToo_TheirConnectionsMayLeaveTheHost) {
  const auto environment = OfTrainer("cuda:0", /*all_are_here=*/false);
  EXPECT_THAT(environment, Not(Contains(Key("NCCL_SOCKET_IFNAME"))));
  EXPECT_THAT(environment, Contains(Pair("NCCL_DEBUG", "WARN")));
}

TEST(DeviceEnvironment, WhatIsDecidedAlready_IsLeftAsItIs) {
  const auto environment = OfTrainer("cuda:0", true, Host(),
                                     {"NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES"});
  EXPECT_THAT(environment, Not(Contains(Key("NCCL_DEBUG"))));
  EXPECT_THAT(environment, Not(Contains(Key("NCCL_SOCKET_IFNAME"))));
  // But which device is the rank's is not for the environment to say.
  EXPECT_THAT(environment, Contains(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda0")));
}

TEST(DeviceEnvironment, KindThatIsNotConnected_HasNothingAboutConnections) {
  EXPECT_THAT(OfTrainer("xpu:0"),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""),
                                   Pair("XPU_VISIBLE_DEVICES", "uuid-of-xpu0")));
}

TEST(DeviceEnvironment, CpuSlot_SeesNoDevice) {
  EXPECT_THAT(OfTrainer("cpu:0"), UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""),
                                                       Pair("XPU_VISIBLE_DEVICES", "")));
  EXPECT_THAT(OfTrainer("cpu:0", true, {}), UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "")));
}

TEST(DeviceEnvironment, Program_SeesTheDevicesOfAllRanksHereAndIsLeftAloneOtherwise) {
  EXPECT_THAT(ByName(VisibilityEnvironment({"cuda:1", "cuda:0"}, Host())),
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "uuid-of-cuda1,uuid-of-cuda0"),
                                   Pair("XPU_VISIBLE_DEVICES", "")));
}

}  // namespace
}  // namespace tandem::host
