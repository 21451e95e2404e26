// A real device against the definition, bit for bit; skipped where there is none.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "worker/device/device_library.h"
#include "worker/device/tree_sum_scene.h"

namespace tandem::device {
namespace {

constexpr float kScale = 1.0F / 48;

DeviceLibrary& Library() {
  static DeviceLibrary* const library = LoadDeviceLibrary("cuda").value();
  return *library;
}

// Once per process.
absl::StatusOr<Device*> TheDevice() {
  static const absl::StatusOr<std::unique_ptr<Device>> device = [] {
    for (const auto& [name, value] : Library().environment())
      setenv(name.c_str(), value.c_str(), 1);
    return Library().Open(0);
  }();
  if (!device.ok()) return device.status();
  return device->get();
}

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = Library().Probe();
    if (!found.ok()) GTEST_SKIP() << found.status();
    const absl::StatusOr<Device*> device = TheDevice();
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *device;
    stream_ = device_->MakeStream().value();
  }

  void Copy(void* to, const void* from, size_t bytes) {
    ASSERT_TRUE(device_->Copy(to, from, bytes, *stream_).ok());
  }
  void Wait() {
    const auto event = device_->Record(*stream_).value();
    while (!event->Reached().value()) {
    }
  }

  // As far from an aligned address as `like` is.
  float* NewValues(size_t count, const float* like) {
    memory_.push_back(device_->Allocate((count + kVector) * sizeof(float)).value());
    const auto address = reinterpret_cast<uintptr_t>(like) / sizeof(float);
    return reinterpret_cast<float*>(memory_.back()->data()) + address % kVector;
  }

  // Absent segments stay as the device gives memory out.
  TreeSum::Block Upload(const TreeScene& scene, const TreeSum::Block& block) {
    const std::vector<int64_t>& offsets = scene.offsets();
    float* values = NewValues(offsets.back(), block.values);
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (!block.present[i]) continue;
      const size_t bytes = (offsets[i + 1] - offsets[i]) * sizeof(float);
      Copy(values + offsets[i], block.values + offsets[i], bytes);
    }
    return {block.begin, block.size, values, block.present};
  }

  std::vector<float> SumOnDevice(TreeScene& scene) {
    float* untouched = scene.NewSum();
    const size_t count = scene.offsets().back();
    TreeSum sum = scene.Sum(NewValues(count, untouched), kScale);
    Copy(sum.sum, untouched, count * sizeof(float));
    for (TreeSum::Block& block : sum.blocks) block = Upload(scene, block);
    EXPECT_TRUE(device_->AddInTree(sum, *stream_).ok());
    std::vector<float> result(count);
    Copy(result.data(), sum.sum, count * sizeof(float));
    Wait();
    return result;
  }

  Device* device_ = nullptr;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

TEST_F(CudaDeviceTest, CopyThereAndBack_SameBytes) {
  std::vector<int> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const size_t bytes = numbers.size() * sizeof(int);
  const auto memory = device_->Allocate(bytes).value();
  std::vector<int> back(numbers.size());
  Copy(memory->data(), numbers.data(), bytes);
  Copy(back.data(), memory->data(), bytes);
  Wait();
  EXPECT_EQ(back, numbers);
}

TEST_F(CudaDeviceTest, Owns_ItsMemoryOnly) {
  const auto memory = device_->Allocate(64).value();
  const int on_stack = 0;
  EXPECT_TRUE(device_->Owns(memory->data()));
  EXPECT_TRUE(device_->Owns(memory->data() + 63));
  EXPECT_FALSE(device_->Owns(&on_stack));
}

TEST_F(CudaDeviceTest, AnotherStreamWaitsForEvent_SeesTheCopy) {
  const int written = 42;
  int read = 0;
  const auto memory = device_->Allocate(sizeof(int)).value();
  const auto reader = device_->MakeStream().value();
  Copy(memory->data(), &written, sizeof(int));
  ASSERT_TRUE(device_->WaitFor(*reader, *device_->Record(*stream_).value()).ok());
  ASSERT_TRUE(device_->Copy(&read, memory->data(), sizeof(int), *reader).ok());
  const auto done = device_->Record(*reader).value();
  while (!done->Reached().value()) {
  }
  EXPECT_EQ(read, 42);
}

TEST_F(CudaDeviceTest, AddInTree_IsTheDefinition) {
  uint64_t seed = 1000;
  for (const uint32_t world_size : {1U, 2U, 3U, 5U, 8U, 33U, 64U}) {
    for (const double absent : {0.0, 0.3}) {
      for (const Addresses addresses : {Addresses::kTogether, Addresses::kApart}) {
        TreeScene scene({world_size, 64, {70'001, 0, 5, 1024, 3, 300}, absent, addresses}, ++seed);
        const std::vector<float> sum = SumOnDevice(scene);
        EXPECT_TRUE(SameFloats(scene.Definition(AddNodes, kScale), sum.data()))
            << world_size << " ranks, absent " << absent;
      }
    }
  }
}

// Enough elements that threads have more than one piece each, and several rows.
TEST_F(CudaDeviceTest, LargeSum_IsTheDefinition) {
  TreeScene scene({3, 4, {20'000'003, 1'000'001, 17}, 0.2}, 2000);
  const std::vector<float> sum = SumOnDevice(scene);
  EXPECT_TRUE(SameFloats(scene.Definition(AddNodes, kScale), sum.data()));
}

}  // namespace
}  // namespace tandem::device
