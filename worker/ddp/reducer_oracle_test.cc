// GradientReducer against LibTorch's own DistributedDataParallel engine.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>
#include <vector>

#include "worker/ddp/gloo_ranks.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

constexpr uint32_t kWorldSize = 2;
constexpr int64_t kFeatures = 20;
constexpr int64_t kRowsPerLeaf = 3;
constexpr uint64_t kSteps = 20;

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// Two layers and their optimizer; the same from the start in every rank.
struct Learner {
  Learner() : optimizer(parameters, torch::optim::AdamWOptions(0.01)) {}

  at::Tensor LossSum(const at::Tensor& rows) const {
    const at::Tensor hidden = at::linear(rows, parameters[0], parameters[1]).tanh();
    return at::linear(hidden, parameters[2], parameters[3]).pow(2).sum();
  }
  std::vector<NamedTensor> Named() const {
    std::vector<NamedTensor> named;
    for (const at::Tensor& parameter : parameters) {
      named.push_back({"p" + std::to_string(named.size()), parameter});
    }
    return named;
  }
  Gradients gradients() const {
    Gradients gradients;
    for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
    return gradients;
  }

  static std::vector<at::Tensor> InitialParameters() {
    const at::Generator generator = at::detail::createCPUGenerator(1);
    std::vector<at::Tensor> parameters;
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{64, kFeatures}, {64}, {10, 64}, {10}}) {
      parameters.push_back(at::randn(shape, generator).mul_(0.1).requires_grad_());
    }
    return parameters;
  }

  std::vector<at::Tensor> parameters = InitialParameters();
  torch::optim::AdamW optimizer;
};

at::Tensor RowsOf(uint64_t step, uint32_t leaf) {
  const at::Generator generator = at::detail::createCPUGenerator(1000 * step + leaf);
  return at::randn({kRowsPerLeaf, kFeatures}, generator);
}

class PlainSum : public c10d::CppCommHookInterface<Group> {
 public:
  using CppCommHookInterface::CppCommHookInterface;
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::vector<at::Tensor> tensors = {bucket.getBufferRef()};
    return state_->allreduce(tensors)->getFuture();
  }
};

Group MakeGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank) {
  constexpr auto kGloo = c10d::ProcessGroup::BackendType::GLOO;
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, kWorldSize);
  group->setDefaultBackend(kGloo);
  group->setBackend(at::kCPU, kGloo,
                    c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, kWorldSize, options));
  return group;
}

// How a user of DistributedDataParallel trains with gradient accumulation over the own leaves.
class StockTraining {
 public:
  explicit StockTraining(const Group& group)
      : reducer_(std::make_unique<c10d::Reducer>(
            learner_.parameters, std::vector<std::vector<size_t>>{{2, 3}, {0, 1}}, group,
            std::vector<bool>(4, false), /*bucket_bytes_cap=*/1024,
            /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false,
            std::unordered_map<size_t, std::string>{}, /*first_bucket_bytes_cap=*/1024,
            /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
            std::vector<int64_t>{})) {
    reducer_->register_comm_hook(std::make_unique<PlainSum>(group));
  }

  void Step(uint64_t step, LogicalRange own, uint64_t count) {
    for (at::Tensor& parameter : learner_.parameters) parameter.mutable_grad().reset();
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
    for (uint32_t leaf = own.begin; leaf < own.end; ++leaf) {
      const at::Tensor loss = learner_.LossSum(RowsOf(step, leaf));
      if (leaf + 1 == own.end) reducer_->prepare_for_backward({});
      loss.backward();
    }
    const auto scale = static_cast<float>(1.0 / static_cast<double>(count));
    for (at::Tensor& parameter : learner_.parameters) parameter.mutable_grad().mul_(scale);
    learner_.optimizer.step();
  }
  const Learner& learner() const { return learner_; }

 private:
  Learner learner_;
  const std::unique_ptr<c10d::Reducer> reducer_;
};

class OwnTraining {
 public:
  OwnTraining(Transport& transport, uint32_t logical_ranks)
      : reducer_(*GradientReducer::Create(
            transport, learner_.Named(),
            {.logical_ranks = logical_ranks, .bucket_bytes = 1024, .gather_bytes = 512})) {}

  absl::Status Step(uint64_t step, uint64_t count) {
    reducer_->BeginStep(step);
    for (uint32_t leaf = range().begin; leaf < range().end; ++leaf) {
      const at::Tensor loss = learner_.LossSum(RowsOf(step, leaf));
      reducer_->BeginLogicalRank(LogicalRank(leaf));
      loss.backward();
      reducer_->EndLogicalRank(LogicalRank(leaf));
    }
    if (absl::Status status = reducer_->Finish(count); !status.ok()) return status;
    learner_.optimizer.step();
    return absl::OkStatus();
  }
  LogicalRange range() const { return reducer_->range(); }
  const Learner& learner() const { return learner_; }

 private:
  Learner learner_;
  const std::unique_ptr<GradientReducer> reducer_;
};

// Steps of rank 0 after which gradients and parameters had the same bits in both.
uint64_t EqualSteps(uint32_t logical_ranks) {
  const auto host = *Rendezvous::Host(RankOf(0, kWorldSize), "127.0.0.1");
  uint64_t equal = 0;
  RunThreads(kWorldSize, [&](Transport& transport) {
    const Group group =
        MakeGroup(host->store()->clone(), static_cast<int>(transport.rank().value()));
    StockTraining stock(group);
    OwnTraining own(transport, logical_ranks);
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t count = logical_ranks * kRowsPerLeaf;
      stock.Step(step, own.range(), count);
      ASSERT_TRUE(own.Step(step, count).ok());
      const Learner& a = stock.learner();
      const Learner& b = own.learner();
      EXPECT_TRUE(at::allclose(a.parameters[0], b.parameters[0], 1e-3, 1e-3));
      const bool same =
          SameBits(a.gradients(), b.gradients()) && SameBits(a.parameters, b.parameters);
      if (transport.rank() == Rank(0)) equal += same;
    }
  });
  return equal;
}

// One addition commutes.
TEST(ReducerOracleTest, TwoLeavesOnTwoRanks_SameBitsAsStockReducerAfterEveryStep) {
  EXPECT_EQ(EqualSteps(2), kSteps);
}

// Accumulation on a rank goes from the left, the tree in pairs.
TEST(ReducerOracleTest, EightLeavesOnTwoRanks_DifferFromStockReducer) {
  EXPECT_LT(EqualSteps(8), kSteps);
}

}  // namespace
}  // namespace tandem::ddp
