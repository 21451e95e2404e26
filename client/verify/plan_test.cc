#include "client/verify/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/spec/sample_spec.h"

namespace tandem::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WorldSizes, AskedFor_AreTakenOnceInOrder) {
  EXPECT_THAT(WorldSizes(spec::SampleSpec(), {4, 1, 4, 2}), ElementsAre(4, 1, 2));
}

TEST(WorldSizes, NotAskedFor_AreOneTwoAndTheSpecs) {
  v1::JobSpec spec = spec::SampleSpec();
  EXPECT_THAT(WorldSizes(spec, {}), ElementsAre(1, 2));
  spec.set_workers(8);
  EXPECT_THAT(WorldSizes(spec, {}), ElementsAre(1, 2, 8));
  spec.set_workers(1);
  spec.set_logical_ranks(1);
  EXPECT_THAT(WorldSizes(spec, {}), ElementsAre(1));
}

TEST(ControlledSpec, LogicalRanksNotSet_AreFixedForTheLargestSize) {
  EXPECT_EQ(ControlledSpec(spec::SampleSpec(), {1, 3}, 20)->logical_ranks(), 4u);
  v1::JobSpec spec = spec::SampleSpec();
  spec.set_logical_ranks(16);
  EXPECT_EQ(ControlledSpec(spec, {1, 3}, 20)->logical_ranks(), 16u);
}

TEST(ControlledSpec, OfAProgram_RunsItOnceAsItIs) {
  v1::JobSpec spec;
  spec.set_name("train");
  spec.mutable_command()->add_argv("./train");
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  spec.set_min_workers(1);
  const auto controlled = ControlledSpec(spec, {1, 3}, 20);
  ASSERT_TRUE(controlled.ok()) << controlled.status();
  EXPECT_EQ(controlled->logical_ranks(), 4u);
  EXPECT_EQ(controlled->workers(), 3u);
  EXPECT_EQ(controlled->restart().max(), 0u);
  EXPECT_TRUE(controlled->restart().has_max());
  EXPECT_FALSE(controlled->has_min_workers());
  EXPECT_FALSE(controlled->has_steps());
  EXPECT_FALSE(controlled->has_checkpoint());
  const v1::JobSpec run = RunSpec(*controlled, 1, "/traces");
  EXPECT_EQ(run.workers(), 1u);
  EXPECT_FALSE(run.has_trace());
}

TEST(ControlledSpec, LengthAndSideEffects_AreReplaced) {
  v1::JobSpec spec = spec::SampleSpec();
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  const auto controlled = ControlledSpec(spec, {1, 2}, 20);
  ASSERT_TRUE(controlled.ok()) << controlled.status();
  EXPECT_EQ(controlled->steps(), 20u);
  EXPECT_FALSE(controlled->has_epochs());
  EXPECT_FALSE(controlled->has_checkpoint());
  EXPECT_EQ(controlled->verify_every(), 1u);
}

// Otherwise it would be trained on other samples than the job is.
TEST(ControlledSpec, WhatIsHeldOut_StaysAndIsMeasuredAtTheEnd) {
  v1::JobSpec spec = spec::SampleSpec();
  EXPECT_FALSE(ControlledSpec(spec, {1, 2}, 20)->has_evaluate());
  spec.mutable_evaluate()->set_holdout(0.1);
  spec.mutable_evaluate()->set_every_steps(3);
  const v1::Evaluate evaluate = ControlledSpec(spec, {1, 2}, 20)->evaluate();
  EXPECT_EQ(evaluate.holdout(), 0.1);
  EXPECT_FALSE(evaluate.has_every_steps());
  EXPECT_EQ(evaluate.every_epochs(), 20u);
}

TEST(ControlledSpec, MoreWorkersThanLogicalRanks_IsRefusedWithTheKey) {
  v1::JobSpec spec = spec::SampleSpec();
  spec.set_logical_ranks(2);
  const absl::Status refused = ControlledSpec(spec, {1, 4}, 20).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("workers: 4 is more than logical_ranks"));
}

TEST(RunSpec, DiffersInWorkersAndTraceOnly) {
  const v1::JobSpec controlled = *ControlledSpec(spec::SampleSpec(), {1, 2}, 20);
  v1::JobSpec run = RunSpec(controlled, 1, "/traces");
  EXPECT_EQ(run.workers(), 1u);
  EXPECT_EQ(run.trace().dir(), "/traces");
  run.set_workers(controlled.workers());
  run.clear_trace();
  EXPECT_EQ(run.SerializeAsString(), controlled.SerializeAsString());
}

}  // namespace
}  // namespace tandem::verify
