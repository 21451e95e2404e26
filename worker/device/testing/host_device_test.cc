#include "worker/device/testing/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "worker/device/testing/host_stream.h"

namespace tandem::device {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Until what is in the stream is done.
void Await(HostDevice& device, Stream& stream) {
  const auto event = *device.Record(stream);
  while (!*event->Reached()) std::this_thread::yield();
}

absl::Span<float> FloatsOf(const Memory& memory, size_t count) {
  return {reinterpret_cast<float*>(memory.data()), count};
}

TEST(HostDeviceTest, Owns_WhatWasAllocatedAndNothingElse) {
  HostDevice device;
  const HostDevice other;
  const std::vector<std::byte> main(8);
  const std::byte* after = nullptr;
  {
    const auto memory = *device.Allocate(8);
    EXPECT_TRUE(device.Owns(memory->data()));
    EXPECT_TRUE(device.Owns(memory->data() + 7));
    EXPECT_FALSE(device.Owns(memory->data() + 8));
    EXPECT_FALSE(device.Owns(main.data()));
    EXPECT_FALSE(other.Owns(memory->data()));
    after = memory->data();
  }
  EXPECT_FALSE(device.Owns(after));
}

TEST(HostDeviceTest, MemoryOutlivesItsDevice) {
  auto device = std::make_unique<HostDevice>();
  const auto memory = *device->Allocate(8);
  device.reset();
  memory->data()[7] = std::byte{1};
}

TEST(HostDeviceTest, AllocatedByManyThreads_EachItsOwn) {
  HostDevice device;
  std::vector<std::thread> threads;
  for (uint8_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        const auto memory = *device.Allocate(64);
        std::fill_n(memory->data(), 64, std::byte{i});
        EXPECT_TRUE(device.Owns(memory->data()));
        EXPECT_THAT(absl::MakeConstSpan(memory->data(), 64), Each(std::byte{i}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostDeviceTest, Copy_ReadsMainMemoryAtOnceAndTheDevicesInTurn) {
  HostDevice device;
  const auto stream = *device.MakeStream();
  const auto first = *device.Allocate(1);
  const auto second = *device.Allocate(1);
  std::byte main{5};
  ASSERT_TRUE(device.Copy(first->data(), &main, 1, *stream).ok());
  main = std::byte{6};
  ASSERT_TRUE(device.Copy(second->data(), first->data(), 1, *stream).ok());
  std::byte result{0};
  ASSERT_TRUE(device.Copy(&result, second->data(), 1, *stream).ok());
  Await(device, *stream);
  EXPECT_EQ(result, std::byte{5});
}

TEST(HostDeviceTest, WaitFor_HoldsOneStreamUpUntilTheOtherIsThere) {
  HostDevice device;
  const auto stream = *device.MakeStream();
  absl::Notification go;
  std::vector<int> order;
  static_cast<HostQueue&>(device.ComputeStream()).Put([&] {
    go.WaitForNotification();
    order.push_back(1);
  });
  const auto computed = *device.Record(device.ComputeStream());
  EXPECT_FALSE(*computed->Reached());
  ASSERT_TRUE(device.WaitFor(*stream, *computed).ok());
  static_cast<HostQueue&>(*stream).Put([&] { order.push_back(2); });
  go.Notify();
  Await(device, *stream);
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(HostDeviceTest, Handle_TakesWorkThroughItsFunctions) {
  HostDevice device;
  const auto stream = *device.MakeStream();
  const auto memory = *device.Allocate(1);
  int done = 0;
  StreamHandle* const handle = stream->handle();
  handle->run(
      handle, [](void* argument) { ++*static_cast<int*>(argument); }, &done);
  Await(device, *stream);
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(handle->owns(handle, memory->data()));
  EXPECT_FALSE(handle->owns(handle, &done));
}

TEST(HostDeviceTest, AddInTree_AddsPairsAndScalesOnce) {
  HostDevice device;
  const float leaves[] = {1.0f, 1e8f, -1e8f, 1.0f};
  const uint8_t present[] = {1};
  TreeSum sum;
  sum.offsets = {0, 1};
  sum.scale = 0.5f;
  std::vector<std::unique_ptr<Memory>> memory;
  for (uint32_t leaf = 0; leaf < 4; ++leaf) {
    memory.push_back(*device.Allocate(sizeof(float)));
    FloatsOf(*memory.back(), 1)[0] = leaves[leaf];
    sum.blocks.push_back({leaf, 1, FloatsOf(*memory.back(), 1).data(), present});
  }
  sum.sum = FloatsOf(*memory[0], 1).data();
  ASSERT_TRUE(device.AddInTree(sum, device.ComputeStream()).ok());
  Await(device, device.ComputeStream());
  const float expected = ((leaves[0] + leaves[1]) + (leaves[2] + leaves[3])) * 0.5f;
  EXPECT_EQ(FloatsOf(*memory[0], 1)[0], expected);
  EXPECT_NE(expected, (((leaves[0] + leaves[1]) + leaves[2]) + leaves[3]) * 0.5f);
}

TEST(HostDeviceTest, AddInTreeWithAbsentBlocks_SkipsThemAndKeepsWhatNoneHas) {
  HostDevice device;
  const auto left = *device.Allocate(3 * sizeof(float));
  const auto right = *device.Allocate(3 * sizeof(float));
  std::ranges::copy(std::vector<float>{-0.0f, 1, 7}, FloatsOf(*left, 3).begin());
  std::ranges::copy(std::vector<float>{5, 2, 9}, FloatsOf(*right, 3).begin());
  const uint8_t of_left[] = {1, 1, 0};
  const uint8_t of_right[] = {0, 1, 0};
  const TreeSum sum{.blocks = {{0, 1, FloatsOf(*left, 3).data(), of_left},
                               {1, 1, FloatsOf(*right, 3).data(), of_right}},
                    .offsets = {0, 1, 2, 3},
                    .sum = FloatsOf(*left, 3).data()};
  ASSERT_TRUE(device.AddInTree(sum, device.ComputeStream()).ok());
  Await(device, device.ComputeStream());
  EXPECT_THAT(FloatsOf(*left, 3), ElementsAre(-0.0f, 3, 7));
  EXPECT_EQ(std::bit_cast<uint32_t>(FloatsOf(*left, 3)[0]), 0x80000000u);
}

TEST(HostDeviceTest, AddInTreeOfNoWholeRoot_Internal) {
  HostDevice device;
  const uint8_t present[] = {1};
  const float value = 0;
  const TreeSum sum{
      .blocks = {{0, 1, &value, present}, {1, 1, &value, present}, {2, 1, &value, present}},
      .offsets = {0, 1}};
  EXPECT_EQ(device.AddInTree(sum, device.ComputeStream()).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tandem::device
