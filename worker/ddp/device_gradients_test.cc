// GradientReducer over parameters on a device: the stand-in, of which each rank has one.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/local_transport.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"
#include "worker/device/device_library.h"

namespace tandem::ddp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<device::Device> OpenStandIn(uint32_t index) {
  setenv("STANDIN_EQUAL_BITS", "1", 1);
  return device::LoadDeviceLibrary("standin").value()->Open(index).value();
}

// Segments of any length, so that those of a shard begin anywhere.
ReductionScene Scene() {
  ReductionScene scene = ReductionScene::Random(8, {{33, 5}, {7}, {301}, {1}}, 3);
  scene.count = 21;
  return scene;
}

// A parameter that nobody has, one that only some have, and one that one leaf alone has, as -0.
ReductionScene SceneWithAbsent() {
  ReductionScene scene = Scene();
  for (size_t leaf = 0; leaf < scene.leaves.size(); ++leaf) {
    scene.leaves[leaf][0] = at::Tensor();
    if (leaf % 3 == 0) scene.leaves[leaf][2] = at::Tensor();
    scene.leaves[leaf][1] = leaf == 5 ? at::full({7}, -0.0) : at::Tensor();
  }
  return scene;
}

// What each rank has after a step, with a device of its own.
std::vector<Gradients> ReduceOnDevices(const ReductionScene& scene, uint32_t world_size,
                                       const GradientReducerOptions& options) {
  std::vector<std::unique_ptr<device::Device>> devices;
  for (uint32_t rank = 0; rank < world_size; ++rank) devices.push_back(OpenStandIn(rank));
  std::vector<Gradients> results(world_size);
  RunRanks(world_size, [&](Transport& transport) {
    const uint32_t rank = transport.rank().value();
    ReductionScene own = scene;
    own.device = at::Device(devices[rank]->torch_name());
    GradientReducerOptions own_options = options;
    own_options.device = devices[rank].get();
    const auto gradients = Reduce(own, transport, own_options);
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    results[rank] = *gradients;
  });
  return results;
}

// World size, and up to how many bytes a bucket goes to every rank.
class DeviceGradients : public ::testing::TestWithParam<std::tuple<uint32_t, size_t>> {
 protected:
  void ExpectTheDefinition(const ReductionScene& scene, size_t bucket_bytes) const {
    const auto [world_size, gather_bytes] = GetParam();
    const GradientReducerOptions options = {.bucket_bytes = bucket_bytes,
                                            .gather_bytes = gather_bytes};
    for (const Gradients& gradients : ReduceOnDevices(scene, world_size, options)) {
      EXPECT_TRUE(SameBits(gradients, Definition(scene)));
    }
  }
};

TEST_P(DeviceGradients, OneBucket_SumInTheTree) { ExpectTheDefinition(Scene(), 1 << 20); }
TEST_P(DeviceGradients, SeveralBuckets_SumInTheTree) { ExpectTheDefinition(Scene(), 64); }
TEST_P(DeviceGradients, AbsentOnSomeLeaves_SumOfThoseThatHaveIt) {
  ExpectTheDefinition(SceneWithAbsent(), 1 << 20);
}

INSTANTIATE_TEST_SUITE_P(Gathered, DeviceGradients,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(1 << 20)));
INSTANTIATE_TEST_SUITE_P(Sharded, DeviceGradients,
                         ::testing::Combine(::testing::Values(2, 3, 4), ::testing::Values(0)));

TEST(DeviceGradient, IsWhereItsParameterIs) {
  const std::vector<Gradients> ranks = ReduceOnDevices(Scene(), 2, {});
  EXPECT_EQ(ranks[1][0].device(), at::Device("standin:1"));
}

TEST(DeviceGradient, AllReduceOfTwo_SameBitsAsOnTheCpu) {
  const GradientReducerOptions options = {.reduction = Reduction::kAllReduce};
  const ReductionScene scene = SceneWithAbsent();
  const std::vector<Gradients> on_devices = ReduceOnDevices(scene, 2, options);
  RunRanks(2, [&](Transport& transport) {
    const auto on_cpu = Reduce(scene, transport, options);
    EXPECT_TRUE(SameBits(*on_cpu, on_devices[transport.rank().value()]));
  });
}

absl::Status Created(const std::vector<NamedTensor>& parameters, device::Device* device) {
  LocalTransport transport;
  return GradientReducer::Create(transport, parameters, {.device = device}).status();
}

TEST(DeviceParameters, OneIsElsewhere_IsRefusedByName) {
  const auto device = OpenStandIn(0);
  const std::vector<NamedTensor> parameters = {
      {"here", at::zeros({2}, at::Device("standin:0")).requires_grad_()},
      {"forgotten", at::zeros({2}).requires_grad_()}};
  const absl::Status status = Created(parameters, device.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'forgotten' is on cpu"), HasSubstr("standin:0")));
}

TEST(DeviceParameters, WithoutADevice_AreRefusedByName) {
  const auto device = OpenStandIn(0);
  const absl::Status status =
      Created({{"lost", at::zeros({2}, at::Device("standin:0")).requires_grad_()}}, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'lost' is on standin:0"));
}

}  // namespace
}  // namespace tandem::ddp
