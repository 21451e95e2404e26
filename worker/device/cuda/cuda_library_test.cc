// The library as a trainer loads it, on a host that may have no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "worker/device/device_library.h"

namespace tandem::device {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class CudaLibraryTest : public testing::Test {
 protected:
  CudaLibraryTest() : library_(*LoadDeviceLibrary("cuda")) {}
  DeviceLibrary& library() { return *library_; }

 private:
  DeviceLibrary* const library_;
};

class WithoutDriver : public CudaLibraryTest {
 protected:
  void SetUp() override {
    if (!library().driver_version().empty()) GTEST_SKIP() << "there is a driver here";
  }
};

TEST_F(CudaLibraryTest, Loaded_SaysWhatItIs) {
  EXPECT_THAT(library().runtime_version(), HasSubstr("13."));
  EXPECT_EQ(library().collectives(), "libnccl.so.2");
  EXPECT_EQ(library().visibility_variable(), "CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(library().environment(), Contains(Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8")));
}

void ExpectOneLineAboutTheDriver(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

TEST_F(WithoutDriver, Probe_SaysSo) { ExpectOneLineAboutTheDriver(library().Probe().status()); }

TEST_F(WithoutDriver, Open_SaysSo) { ExpectOneLineAboutTheDriver(library().Open(0).status()); }

}  // namespace
}  // namespace tandem::device
