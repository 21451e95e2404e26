#include "worker/device/cuda/management_library.h"

#include <gtest/gtest.h>

namespace tandem::device {
namespace {

// With test_management_library.cc, which is loaded already under the name that is looked for.
TEST(ManagementLibraryTest, FreeMemory_IsThatOfTheDeviceOrNotKnown) {
  const auto free_bytes_of = FreeMemoryReader();
  EXPECT_EQ(free_bytes_of("GPU-1"), 5'000'000'000u);
  EXPECT_EQ(free_bytes_of("GPU-2"), 0u);
}

TEST(ManagementLibraryTest, DriverBuild_IsThatOfTheDriver) {
  EXPECT_EQ(DriverBuild(), "580.95.05");
}

TEST(ManagementLibraryTest, Driver_IsDescribedByItsBuildAndWhatItSupports) {
  EXPECT_EQ(DescribeDriver("580.95.05", "13.0"), "driver 580.95.05, for CUDA 13.0");
  EXPECT_EQ(DescribeDriver("", "13.0"), "driver of a build not known, for CUDA 13.0");
}

}  // namespace
}  // namespace tandem::device
