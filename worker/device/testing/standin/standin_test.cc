// What the proofs on the stand-in rest on.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "worker/device/device_library.h"
#include "worker/device/testing/host_stream.h"
#include "worker/model/seed.h"

namespace tandem::device {
namespace {

using ::testing::HasSubstr;

class Standin : public ::testing::Test {
 protected:
  static std::unique_ptr<Device> Open() {
    setenv("STANDIN_EQUAL_BITS", "1", 1);
    return LoadDeviceLibrary("standin").value()->Open(0).value();
  }

  const std::unique_ptr<Device> device_ = Open();
  const at::Device place_{device_->torch_name()};
};

TEST_F(Standin, MemoryOfATensor_IsTheDevices) {
  EXPECT_TRUE(device_->Owns(at::zeros({3}, place_).data_ptr()));
  EXPECT_FALSE(device_->Owns(at::zeros({3}).data_ptr()));
}

// Or a tensor that was forgotten in main memory would go unnoticed.
TEST_F(Standin, TensorInMainMemoryAmongOthers_IsRefused) {
  const at::Tensor here = at::ones({3, 3}, place_), elsewhere = at::ones({3, 3});
  EXPECT_THROW(at::matmul(here, elsewhere), c10::Error);
  EXPECT_THROW(at::add(here, elsewhere), c10::Error);
  EXPECT_THROW(at::softmax(here, -1).masked_fill(elsewhere.to(at::kBool), 0), c10::Error);
  EXPECT_NO_THROW(at::mul(here, at::scalar_tensor(2.0)));
}

// So much work that whoever does not wait for it is ahead of it.
void BeSlow(void*) { absl::SleepFor(absl::Milliseconds(100)); }

// Or a kernel could read what a transport or a sum has not written yet.
TEST_F(Standin, Kernel_WaitsForWorkOfTheComputeStream) {
  constexpr int64_t kElements = 1000;
  const at::Tensor values = at::ones({kElements}, place_);
  const std::vector<uint8_t> present = {1};
  TreeSum sum;
  sum.blocks = {{.values = values.const_data_ptr<float>(), .present = present.data()}};
  sum.offsets = {0, kElements};
  sum.sum = values.mutable_data_ptr<float>();
  sum.scale = 3;
  StreamHandle* const compute = device_->ComputeStream().handle();
  compute->run(compute, &BeSlow, nullptr);
  ASSERT_TRUE(device_->AddInTree(sum, device_->ComputeStream()).ok());
  EXPECT_EQ(values[kElements - 1].item<float>(), 3);
}

TEST_F(Standin, Resized_KeepsItsValues) {
  const at::Tensor values = at::arange(4, at::kFloat).to(place_);
  values.resize_({8}).narrow(0, 4, 4).zero_();
  EXPECT_EQ(values.sum().item<float>(), 6);
}

TEST_F(Standin, SeededDefaultGenerator_IsTheDevicesToo) {
  model::SeedDefaultGenerator(71, place_);
  EXPECT_EQ(at::globalContext().defaultGenerator(place_).current_seed(), 71u);
  EXPECT_EQ(at::globalContext().defaultGenerator(at::kCPU).current_seed(), 71u);
  model::SeedDefaultGenerator(72);
  EXPECT_EQ(at::globalContext().defaultGenerator(place_).current_seed(), 71u);
}

TEST_F(Standin, DeviceThatThisProcessDoesNotSee_IsNotThere) {
  setenv("STANDIN_VISIBLE_DEVICES", "STANDIN-2", 1);
  DeviceLibrary* const library = LoadDeviceLibrary("standin").value();
  EXPECT_TRUE(library->Open(0).ok());
  EXPECT_EQ(library->Open(1).status().code(), absl::StatusCode::kFailedPrecondition);
  unsetenv("STANDIN_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace tandem::device
