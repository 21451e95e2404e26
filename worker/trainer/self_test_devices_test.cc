#include "worker/trainer/self_test_devices.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool HasNone(const std::string& name) { return false; }

v1::ProbeReport TwoDevices() {
  v1::ProbeReport host;
  v1::DeviceLibraryFacts& library = *host.add_libraries();
  library.set_kind("cuda");
  library.set_visibility_variable("CUDA_VISIBLE_DEVICES");
  library.set_collectives("NCCL 2.28.9");
  library.add_environment()->set_name("CUBLAS_WORKSPACE_CONFIG");
  library.mutable_environment(0)->set_value(":4096:8");
  for (const uint32_t index : {0u, 3u}) {
    v1::DeviceFacts& device = *host.add_devices();
    device.set_kind("cuda");
    device.set_index(index);
    device.set_uuid("GPU-" + std::to_string(index));
  }
  return host;
}

TEST(SelfTestDevicesTest, Cpu_NeedsNothing) {
  const auto places = *SelfTestPlaces("cpu", {}, HasNone);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[1].slot, "cpu:1");
  EXPECT_THAT(places[1].environment, IsEmpty());
}

TEST(SelfTestDevicesTest, EachRank_HasTheEnvironmentOfOneThatTrains) {
  const auto places = *SelfTestPlaces("cuda:0,3", TwoDevices(), HasNone);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].slot, "cuda:0");
  EXPECT_THAT(places[1].environment,
              ElementsAre("CUDA_VISIBLE_DEVICES=GPU-3", "CUBLAS_WORKSPACE_CONFIG=:4096:8",
                          "NCCL_SOCKET_IFNAME=lo", "NCCL_DEBUG=WARN"));
}

TEST(SelfTestDevicesTest, DeviceThatIsNotThere_IsSaidWithTheReason) {
  v1::ProbeReport host = TwoDevices();
  host.mutable_libraries(0)->set_problem("the driver is too old");
  const absl::Status status = SelfTestPlaces("cuda:0,1", host, HasNone).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuda:1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the driver is too old"));
  EXPECT_THAT(std::string(SelfTestPlaces("rocm:0,1", host, HasNone).status().message()),
              HasSubstr("rocm:0"));
}

TEST(SelfTestDevicesTest, OtherWords_AreRefused) {
  for (const char* words : {"", "cuda", "cuda:0", "cuda:0,0", "cuda:0,1,2", "a:b:0,1", ":0,1"}) {
    EXPECT_EQ(SelfTestPlaces(words, TwoDevices(), HasNone).status().code(),
              absl::StatusCode::kInvalidArgument)
        << words;
  }
}

}  // namespace
}  // namespace tandem::trainer
