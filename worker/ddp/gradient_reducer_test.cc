#include "worker/ddp/gradient_reducer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "worker/ddp/exchange_header.h"
#include "worker/ddp/local_transport.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Notes when which bucket is sent off.
class ObservedTransport : public LocalTransport {
 public:
  explicit ObservedTransport(std::vector<std::string>* events) : events_(events) {}

  std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) override {
    ExchangeHeader header;
    if (slots.size() >= sizeof(header)) std::memcpy(&header, slots.data(), sizeof(header));
    events_->push_back("bucket " + std::to_string(header.bucket));
    return LocalTransport::StartAllGather(slots);
  }

 private:
  std::vector<std::string>* const events_;
};

// Two parameters, notes when their gradients arrive, and a reducer over them on one rank.
struct TwoParameters {
  explicit TwoParameters(const GradientReducerOptions& options) {
    first.register_hook([this](const at::Tensor&) { events.push_back("gradient of first"); });
    second.register_hook([this](const at::Tensor&) { events.push_back("gradient of second"); });
    reducer = *GradientReducer::Create(transport, {{"first", first}, {"second", second}}, options);
    events.clear();  // of Create's own exchange
    reducer->BeginStep(0);
  }

  void Run(uint32_t leaf, const std::function<at::Tensor()>& loss) {
    reducer->BeginLogicalRank(LogicalRank(leaf));
    loss().backward();
    events.push_back("backward ended");
    reducer->EndLogicalRank(LogicalRank(leaf));
  }
  at::Tensor FirstThenSecond() { return (first * 2 + 1).sin().mul(second).sum(); }
  at::Tensor SecondThenFirst() { return (second * 2 + 1).sin().mul(first).sum(); }

  std::vector<std::string> events;
  ObservedTransport transport{&events};
  at::Tensor first = at::ones({3}).requires_grad_();
  at::Tensor second = at::ones({3}).requires_grad_();
  std::unique_ptr<GradientReducer> reducer;
};

constexpr size_t kBucketPerParameter = 1;

TEST(GradientReducerTest, BucketFullDuringBackward_SentBeforeBackwardEnds) {
  TwoParameters world({.bucket_bytes = kBucketPerParameter});
  world.Run(0, [&] { return world.FirstThenSecond(); });
  EXPECT_THAT(world.events, ElementsAre("gradient of second", "bucket 0", "gradient of first",
                                        "bucket 1", "backward ended"));
}

TEST(GradientReducerTest, OneBucketForAll_SentOnceWithTheLastGradient) {
  TwoParameters world({});
  world.Run(0, [&] { return world.FirstThenSecond(); });
  EXPECT_THAT(world.events,
              ElementsAre("gradient of second", "gradient of first", "bucket 0", "backward ended"));
}

TEST(GradientReducerTest, LogicalRanksBeforeTheLast_SendNothing) {
  TwoParameters world({.logical_ranks = 2, .bucket_bytes = kBucketPerParameter});
  world.Run(0, [&] { return world.FirstThenSecond(); });
  EXPECT_THAT(world.events,
              ElementsAre("gradient of second", "gradient of first", "backward ended"));
}

TEST(GradientReducerTest, GradientsInAnotherOrder_BucketsInTheSame) {
  TwoParameters world({.bucket_bytes = kBucketPerParameter});
  world.Run(0, [&] { return world.SecondThenFirst(); });
  EXPECT_THAT(world.events, ElementsAre("gradient of first", "gradient of second", "bucket 0",
                                        "bucket 1", "backward ended"));
}

TEST(GradientReducerTest, GradientThatNeverComes_BucketsSentAtTheEnd) {
  TwoParameters world({.bucket_bytes = kBucketPerParameter});
  world.Run(0, [&] { return world.first.sum(); });
  EXPECT_THAT(world.events,
              ElementsAre("gradient of first", "backward ended", "bucket 0", "bucket 1"));
  EXPECT_TRUE(world.reducer->Finish(1).ok());
  EXPECT_TRUE(world.first.grad().defined());
  EXPECT_FALSE(world.second.grad().defined());
}

TEST(GradientReducerTest, ParameterUsedTwice_BothUsesCount) {
  TwoParameters world({});
  world.Run(0, [&] { return (world.first * 3 + world.first * 4 + world.second).sum(); });
  ASSERT_TRUE(world.reducer->Finish(1).ok());
  EXPECT_TRUE(world.first.grad().equal(at::full({3}, 7.0f)));
}

TEST(GradientReducerTest, NextStep_StartsFromNothing) {
  TwoParameters world({});
  world.Run(0, [&] { return world.FirstThenSecond(); });
  ASSERT_TRUE(world.reducer->Finish(1).ok());
  world.reducer->BeginStep(1);
  EXPECT_FALSE(world.first.grad().defined());
  world.Run(0, [&] { return world.first.sum(); });
  ASSERT_TRUE(world.reducer->Finish(2).ok());
  EXPECT_TRUE(world.first.grad().equal(at::full({3}, 0.5f)));
  EXPECT_FALSE(world.second.grad().defined());
}

TEST(GradientReducerTest, Destroyed_LeavesTheParametersAlone) {
  TwoParameters world({});
  world.reducer.reset();
  world.first.sum().backward();
  EXPECT_TRUE(world.first.grad().equal(at::ones({3})));
}

TEST(GradientReducerTest, TwoBackwardsInOneLogicalRank_Refused) {
  TwoParameters world({});
  world.reducer->BeginLogicalRank(LogicalRank(0));
  world.first.sum().backward();
  world.first.sum().backward();
  world.reducer->EndLogicalRank(LogicalRank(0));
  const absl::Status status = world.reducer->Finish(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'first'"));
}

TEST(GradientReducerTest, BackwardOutsideOfALogicalRank_Refused) {
  TwoParameters world({});
  world.first.sum().backward();
  world.reducer->SkipLogicalRank(LogicalRank(0));
  EXPECT_EQ(world.reducer->Finish(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(GradientReducerTest, CallsOutOfOrder_Refused) {
  const std::function<void(GradientReducer&)> wrong[] = {
      [](GradientReducer& reducer) {},
      [](GradientReducer& reducer) { reducer.SkipLogicalRank(LogicalRank(1)); },
      [](GradientReducer& reducer) { reducer.EndLogicalRank(LogicalRank(0)); },
      [](GradientReducer& reducer) { reducer.BeginLogicalRank(LogicalRank(0)); },
      [](GradientReducer& reducer) { reducer.BeginStep(1); },
  };
  for (const auto& calls : wrong) {
    TwoParameters world({});
    calls(*world.reducer);
    EXPECT_EQ(world.reducer->Finish(1).code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(GradientReducerTest, GradientsProvided_SameBitsAsByBackward) {
  TwoParameters by_backward({.logical_ranks = 2});
  for (const uint32_t leaf : {0, 1}) {
    by_backward.Run(leaf, [&] { return by_backward.FirstThenSecond() * (leaf + 0.3); });
  }
  ASSERT_TRUE(by_backward.reducer->Finish(3).ok());

  TwoParameters provided({.logical_ranks = 2});
  for (const uint32_t leaf : {0, 1}) {
    const auto gradients = torch::autograd::grad({provided.FirstThenSecond() * (leaf + 0.3)},
                                                 {provided.first, provided.second});
    provided.reducer->BeginLogicalRank(LogicalRank(leaf));
    provided.reducer->Provide(1, gradients[1]);
    provided.reducer->Provide(0, gradients[0]);
    provided.reducer->EndLogicalRank(LogicalRank(leaf));
  }
  ASSERT_TRUE(provided.reducer->Finish(3).ok());
  EXPECT_TRUE(SameBits({provided.first.grad(), provided.second.grad()},
                       {by_backward.first.grad(), by_backward.second.grad()}));
}

TEST(GradientReducerTest, SomeProvidedAndSomeByBackward_BothCount) {
  TwoParameters world({.bucket_bytes = kBucketPerParameter});
  world.reducer->BeginLogicalRank(LogicalRank(0));
  world.reducer->Provide(1, at::full({3}, 5.0f));
  EXPECT_THAT(world.events, ElementsAre("bucket 0"));
  world.first.sum().backward();
  world.reducer->EndLogicalRank(LogicalRank(0));
  ASSERT_TRUE(world.reducer->Finish(1).ok());
  EXPECT_TRUE(world.first.grad().equal(at::ones({3})));
  EXPECT_TRUE(world.second.grad().equal(at::full({3}, 5.0f)));
}

TEST(GradientReducerTest, UndefinedGradientProvided_ParameterIsAbsent) {
  TwoParameters world({});
  world.reducer->BeginLogicalRank(LogicalRank(0));
  world.reducer->Provide(0, at::ones({3}));
  world.reducer->Provide(1, at::Tensor());
  world.reducer->EndLogicalRank(LogicalRank(0));
  ASSERT_TRUE(world.reducer->Finish(1).ok());
  EXPECT_FALSE(world.second.grad().defined());
}

TEST(GradientReducerTest, WrongGradientProvided_Refused) {
  const std::pair<size_t, at::Tensor> wrong[] = {{2, at::ones({3})}, {0, at::ones({1})}};
  for (const auto& [parameter, gradient] : wrong) {
    TwoParameters world({});
    world.reducer->BeginLogicalRank(LogicalRank(0));
    world.reducer->Provide(parameter, gradient);
    world.reducer->EndLogicalRank(LogicalRank(0));
    EXPECT_EQ(world.reducer->Finish(1).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(GradientReducerTest, ProvidedTwiceOrOutsideOfALogicalRank_Refused) {
  for (const int begin : {0, 1}) {
    TwoParameters world({});
    if (begin == 1) world.reducer->BeginLogicalRank(LogicalRank(0));
    world.reducer->Provide(0, at::ones({3}));
    world.reducer->Provide(0, at::ones({3}));
    if (begin == 0) world.reducer->BeginLogicalRank(LogicalRank(0));
    world.reducer->EndLogicalRank(LogicalRank(0));
    EXPECT_EQ(world.reducer->Finish(1).code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(GradientReducerTest, SparseGradient_Refused) {
  const at::Tensor table = at::ones({5, 2}).requires_grad_();
  LocalTransport transport;
  auto reducer = *GradientReducer::Create(transport, {{"table", table}}, {});
  reducer->BeginStep(0);
  reducer->BeginLogicalRank(LogicalRank(0));
  at::embedding(table, at::tensor({1, 3}, at::kLong), -1, false, true).sum().backward();
  reducer->EndLogicalRank(LogicalRank(0));
  EXPECT_EQ(reducer->Finish(1).code(), absl::StatusCode::kInvalidArgument);
}

TEST(GradientReducerTest, ParametersThatCannotBeTrained_Refused) {
  const at::Tensor trained = at::ones({2}).requires_grad_();
  const std::vector<std::vector<NamedTensor>> wrong = {
      {}, {{"x", at::ones({2})}}, {{"x", trained * 2}}, {{"x", trained}, {"y", trained}}};
  for (const auto& parameters : wrong) {
    LocalTransport transport;
    EXPECT_EQ(GradientReducer::Create(transport, parameters, {}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// Statuses of both ranks, by rank.
std::vector<absl::Status> RunTwoRanks(const std::function<absl::Status(Transport&)>& body) {
  std::vector<absl::Status> statuses(2);
  RunRanks(2, [&](Transport& transport) { statuses[transport.rank().value()] = body(transport); });
  return statuses;
}

TEST(GradientReducerTest, RankWithAnotherJobHash_RefusedAtOnce) {
  const auto statuses = RunTwoRanks([](Transport& transport) {
    const GradientReducerOptions options = {.logical_ranks = 2,
                                            .job_hash = transport.rank().value()};
    const at::Tensor weight = at::ones({2}).requires_grad_();
    return GradientReducer::Create(transport, {{"weight", weight}}, options).status();
  });
  for (const absl::Status& status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
  }
}

TEST(GradientReducerTest, RankWithAnotherWayOfReduction_RefusedAtOnce) {
  const GradientReducerOptions others[] = {{.gather_bytes = 0},
                                           {.reduction = Reduction::kAllReduce}};
  for (const GradientReducerOptions& other : others) {
    const auto statuses = RunTwoRanks([&](Transport& transport) {
      GradientReducerOptions options =
          transport.rank() == Rank(1) ? other : GradientReducerOptions();
      options.logical_ranks = 2;
      const at::Tensor weight = at::ones({2}).requires_grad_();
      return GradientReducer::Create(transport, {{"weight", weight}}, options).status();
    });
    EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(statuses[1].code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(GradientReducerTest, RankWithOtherParameters_RefusedAtOnce) {
  const auto statuses = RunTwoRanks([](Transport& transport) {
    const at::Tensor weight = at::ones({2 + transport.rank().value()}).requires_grad_();
    return GradientReducer::Create(transport, {{"weight", weight}}, {.logical_ranks = 2}).status();
  });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kFailedPrecondition);
}

absl::Status OneStep(Transport& transport, uint64_t step, GradientReducerOptions options = {}) {
  const at::Tensor weight = at::ones({2}).requires_grad_();
  options.logical_ranks = 2;
  auto reducer = *GradientReducer::Create(transport, {{"weight", weight}}, options);
  const LogicalRank own(transport.rank().value());
  reducer->BeginStep(step);
  reducer->BeginLogicalRank(own);
  weight.sum().backward();
  reducer->EndLogicalRank(own);
  return reducer->Finish(2);
}

TEST(GradientReducerTest, RankAtAnotherStep_NamedWithItsStep) {
  const auto statuses = RunTwoRanks(
      [](Transport& transport) { return OneStep(transport, 7 + transport.rank().value()); });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(statuses[0].message()),
              AllOf(HasSubstr("rank 1"), HasSubstr("step 7"), HasSubstr("step 8")));
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(statuses[1].message()), HasSubstr("rank 0"));
}

TEST(GradientReducerTest, RankAtAnotherStepWithOtherExchanges_Named) {
  const GradientReducerOptions ways[] = {{.gather_bytes = 0}, {.reduction = Reduction::kAllReduce}};
  for (const GradientReducerOptions& way : ways) {
    const auto statuses = RunTwoRanks([&](Transport& transport) {
      return OneStep(transport, 7 + transport.rank().value(), way);
    });
    EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(statuses[0].message()), HasSubstr("step 8"));
  }
}

TEST(GradientReducerTest, PeerGoneInMidStep_Unavailable) {
  LoopbackNetwork network(2);
  const auto mine = network.Join(Rank(0));
  const auto peer = network.Join(Rank(1));
  const auto reduce_on = [](Transport& transport) {
    return GradientReducer::Create(transport, {{"weight", at::ones({2}).requires_grad_()}},
                                   {.logical_ranks = 2});
  };
  std::thread joining([&] { EXPECT_TRUE(reduce_on(*peer).ok()); });
  auto reducer = reduce_on(*mine);
  joining.join();
  ASSERT_TRUE(reducer.ok()) << reducer.status();
  network.Kill(Rank(1));
  (*reducer)->BeginStep(4);
  (*reducer)->SkipLogicalRank(LogicalRank(0));
  const absl::Status status = (*reducer)->Finish(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 4"));
}

}  // namespace
}  // namespace tandem::ddp
