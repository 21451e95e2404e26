#include "worker/device/cuda/probe.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "worker/device/cuda/cuda_status.h"

namespace tandem::device {
namespace {

TEST(ProbeTest, Uuid_IsAsTheDriversToolsWriteIt) {
  cudaDeviceProp device = {};
  unsigned char next = 0x8A;
  std::generate(std::begin(device.uuid.bytes), std::end(device.uuid.bytes),
                [&next] { return static_cast<char>(next++); });
  EXPECT_EQ(UuidOf(device), "GPU-8a8b8c8d-8e8f-9091-9293-949596979899");
}

TEST(ProbeTest, Capability_HasItsPoint) {
  cudaDeviceProp device = {};
  device.major = 12;
  EXPECT_EQ(CapabilityOf(device), "12.0");
}

TEST(ProbeTest, BrokenDevice_HidesNoOther) {
  const auto facts_of = [](int index) -> absl::StatusOr<DeviceFacts> {
    if (index == 1) return absl::FailedPreconditionError("cuda:1: it is broken");
    DeviceFacts facts;
    facts.index = static_cast<uint32_t>(index);
    return facts;
  };
  const auto devices = ThoseThatAnswer(3, facts_of);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ(devices->at(1).index, 2u);
}

TEST(ProbeTest, OnlyBrokenDevices_AreTheProblem) {
  const auto facts_of = [](int index) -> absl::StatusOr<DeviceFacts> {
    return absl::FailedPreconditionError(std::to_string(index));
  };
  EXPECT_EQ(ThoseThatAnswer(2, facts_of).status(), absl::FailedPreconditionError("0"));
}

TEST(CudaStatusTest, Versions_HaveTheirPoint) {
  EXPECT_EQ(CudaVersion(13000), "13.0");
  EXPECT_EQ(CudaVersion(12090), "12.9");
  EXPECT_EQ(CudaVersion(0), "");
}

TEST(CudaStatusTest, Error_SaysWhoWhatAndWhy) {
  const absl::Status status = CudaStatus(cudaErrorInvalidValue, "cuda:1", "copying");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "cuda:1: copying: invalid argument (cudaErrorInvalidValue)");
  EXPECT_TRUE(CudaStatus(cudaSuccess, "cuda:1", "copying").ok());
}

}  // namespace
}  // namespace tandem::device
