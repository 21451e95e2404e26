#include "worker/model/step_buffers.h"

#include "ATen/Functions.h"
#include "gtest/gtest.h"

namespace tandem::model {
namespace {

// One running mean; a logical rank's forward adds its own number to it.
class Buffers {
 public:
  Buffers() : tensor_(at::full({2}, 10.0f)), buffers_({{"norm.running_mean", tensor_}}) {}

  void BeginStep(uint32_t keeper = 0) { buffers_.BeginStep(LogicalRank(keeper)); }
  // The value from which it started.
  float Run(uint32_t logical_rank, float added) {
    buffers_.BeginLogicalRank();
    const float before = value();
    tensor_.add_(added);
    buffers_.EndLogicalRank(LogicalRank(logical_rank));
    return before;
  }
  void EndStep() { buffers_.EndStep(); }

  float value() const { return tensor_[0].item<float>(); }

 private:
  at::Tensor tensor_;
  StepBuffers buffers_;
};

TEST(StepBuffers, EveryLogicalRank_StartsFromTheBeginningOfTheStep) {
  Buffers buffers;
  buffers.BeginStep();
  EXPECT_EQ(buffers.Run(0, 1), 10);
  EXPECT_EQ(buffers.Run(1, 5), 10);
  EXPECT_EQ(buffers.Run(2, 7), 10);
}

TEST(StepBuffers, Result_IsThatOfTheKeeperAndTheNextStepGoesOnFromThere) {
  Buffers buffers;
  for (const float expected : {11, 12}) {
    buffers.BeginStep();
    buffers.Run(0, 1);
    buffers.Run(1, 5);
    buffers.EndStep();
    EXPECT_EQ(buffers.value(), expected);
  }
}

TEST(StepBuffers, KeeperOnAnotherRank_LeavesThemAsTheyWere) {
  Buffers buffers;
  buffers.BeginStep();
  buffers.Run(1, 5);
  buffers.EndStep();
  EXPECT_EQ(buffers.value(), 10);
}

TEST(StepBuffers, KeeperThatIsNotTheFirst_DecidesAlone) {
  Buffers buffers;
  buffers.BeginStep(1);
  buffers.Run(0, 1);
  buffers.Run(1, 5);
  buffers.Run(2, 7);
  buffers.EndStep();
  EXPECT_EQ(buffers.value(), 15);
}

// Between steps somebody else may write to them: a broadcast, a checkpoint.
TEST(StepBuffers, NewStep_BeginsFromWhatTheBuffersAreNow) {
  at::Tensor tensor = at::zeros({1});
  StepBuffers buffers({{"b", tensor}});
  tensor.fill_(3);
  buffers.BeginStep(LogicalRank(0));
  buffers.BeginLogicalRank();
  EXPECT_EQ(tensor.item<float>(), 3);
  buffers.EndStep();
  EXPECT_EQ(tensor.item<float>(), 3);
}

}  // namespace
}  // namespace tandem::model
