#include "worker/model/schedule.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::model {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

std::vector<double> Trace(const v1::Schedule& schedule, uint64_t steps) {
  std::vector<double> trace;
  for (uint64_t step = 0; step < steps; ++step) {
    trace.push_back(LearningRateFactor(schedule, step, steps));
  }
  return trace;
}

v1::JobSpec SpecWith(v1::ScaleLr scale_lr) {
  v1::JobSpec spec;
  spec.mutable_optimizer()->mutable_sgd()->set_lr(0.1);
  spec.set_global_batch_size(256);
  spec.set_base_global_batch_size(64);
  spec.set_scale_lr(scale_lr);
  return spec;
}

TEST(LearningRateFactor, NoSchedule_IsOne) { EXPECT_THAT(Trace({}, 3), ElementsAre(1, 1, 1)); }

TEST(LearningRateFactor, Warmup_RisesEvenlyAndStays) {
  v1::Schedule schedule;
  schedule.mutable_constant();
  schedule.set_warmup_steps(4);
  EXPECT_THAT(Trace(schedule, 6), ElementsAre(0.25, 0.5, 0.75, 1, 1, 1));
}

// CASES 20: the fall comes at step 4 of the job, and not at step 2 because there are two ranks.
TEST(LearningRateFactor, Step_FallsEverySoManyStepsOfTheJob) {
  v1::Schedule schedule;
  schedule.mutable_step()->set_every_steps(4);
  schedule.mutable_step()->set_factor(0.5);
  EXPECT_THAT(Trace(schedule, 10), ElementsAre(1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25));
}

TEST(LearningRateFactor, Cosine_FallsFromTheWarmupToTheFinalFactor) {
  v1::Schedule schedule;
  schedule.mutable_cosine()->set_final_factor(0.2);
  schedule.set_warmup_steps(2);
  EXPECT_THAT(Trace(schedule, 6),
              Pointwise(DoubleNear(1e-12), {0.5, 1., 1., 0.6 + 0.4 * 0.70710678118655, 0.6,
                                            0.6 - 0.4 * 0.70710678118655}));
  EXPECT_NEAR(LearningRateFactor(schedule, 6, 6), 0.2, 1e-12);
}

TEST(LearningRateFactor, WarmupLongerThanTheJob_IsCutOff) {
  v1::Schedule schedule;
  schedule.mutable_cosine();
  schedule.set_warmup_steps(10);
  EXPECT_THAT(Trace(schedule, 2), ElementsAre(0.1, 0.2));
}

TEST(BaseLearningRate, ScaleLr_MultipliesForTheLargerBatch) {
  EXPECT_EQ(BaseLearningRate(SpecWith(v1::SCALE_LR_NONE)), 0.1);
  EXPECT_EQ(BaseLearningRate(SpecWith(v1::SCALE_LR_LINEAR)), 0.1 * 4);
  EXPECT_EQ(BaseLearningRate(SpecWith(v1::SCALE_LR_SQRT)), 0.1 * 2);
}

TEST(BaseLearningRate, WorldSize_DoesNotEnter) {
  for (const v1::ScaleLr scale : {v1::SCALE_LR_NONE, v1::SCALE_LR_LINEAR, v1::SCALE_LR_SQRT}) {
    v1::JobSpec spec = SpecWith(scale);
    const double alone = BaseLearningRate(spec);
    spec.set_workers(8);
    EXPECT_EQ(BaseLearningRate(spec), alone);
  }
}

TEST(BaseLearningRate, EveryOptimizer_GivesItsOwn) {
  v1::JobSpec spec;
  spec.mutable_optimizer()->mutable_adamw()->set_lr(0.3);
  EXPECT_EQ(BaseLearningRate(spec), 0.3);
  spec.mutable_optimizer()->mutable_adam()->set_lr(0.2);
  EXPECT_EQ(BaseLearningRate(spec), 0.2);
}

}  // namespace
}  // namespace tandem::model
