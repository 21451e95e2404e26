#include "worker/checkpoint/training_state.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/checkpoint/testing_checkpoint.h"
#include "common/temporary_folder.h"
#include "worker/ddp/parameter_digest.h"

namespace tandem::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const TrainingIdentity kIdentity = {spec::SampleSpec(), "f1", "tandem 0.1.0", "a processor"};

// Of a little of everything: a number, an empty tensor, several dtypes, values that only bits tell
// apart, a parameter that wants a gradient.
TrainingState MakeState() {
  TrainingState state;
  state.step = 120;
  state.receipt = 0xfedcba9876543210;
  state.loss_scale = 65536;
  state.steps_since_loss_scale_changed = 7;
  state.parameters = {{"fc.weight", at::arange(6, at::kFloat).view({2, 3}).set_requires_grad(true)},
                      {"fc.bias", -at::zeros({2})},
                      {"empty", at::zeros({0, 4})}};
  state.buffers = {{"bn.num_batches_tracked", at::scalar_tensor(3, at::kLong)},
                   {"mask", at::ones({2, 2}, at::kBool)},
                   {"half", at::full({3}, 1.5, at::kHalf)},
                   {"brain", at::full({3}, -2.5, at::kBFloat16)}};
  state.optimizer = {{"optimizer.fc.weight.exp_avg", at::full({2, 3}, 0.1, at::kDouble)},
                     {"optimizer.fc.weight.step", at::scalar_tensor(120, at::kLong)}};
  return state;
}

// The same tensors with other values, and no numbers yet.
TrainingState Blank(const TrainingState& like) {
  TrainingState state;
  for (auto [from, to] :
       {std::pair(&like.parameters, &state.parameters), std::pair(&like.buffers, &state.buffers)}) {
    for (const auto& [name, tensor] : *from) {
      to->push_back({name, at::ones_like(tensor).set_requires_grad(tensor.requires_grad())});
    }
  }
  return state;
}

std::string DigestOf(const TrainingState& state) {
  std::string all;
  for (const auto* tensors : {&state.parameters, &state.buffers}) {
    all += ddp::ParameterDigest(*tensors);
  }
  return all;
}

class TrainingStateTest : public testing::Test {
 protected:
  absl::Status Write(const TrainingState& state) {
    return folder_.Write(state.step,
                         [&](int fd) { return WriteTrainingState(fd, kIdentity, state); });
  }

  absl::Status Restore(TrainingState* state) {
    const auto checkpoint = OpenCheckpoint(path_);
    return checkpoint.ok() ? RestoreTrainingState(*checkpoint, state) : checkpoint.status();
  }

  // Restoring into `state` names `tensor`, says `what`, and changes nothing.
  void ExpectRefusal(TrainingState state, const std::string& tensor, const std::string& what) {
    ASSERT_TRUE(Write(state_).ok());
    const std::string before = DigestOf(state);
    const auto refused = Restore(&state);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), StartsWith(path_ + ": tensor '" + tensor + "' "));
    EXPECT_THAT(std::string(refused.message()), HasSubstr(what));
    EXPECT_EQ(DigestOf(state), before);
    EXPECT_EQ(state.step, 0u);
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("state");
  CheckpointFolder folder_{place_.path()};
  TrainingState state_ = MakeState();
  TrainingState blank_ = Blank(state_);
  const std::string path_ = folder_.FileOf(120);
};

TEST_F(TrainingStateTest, Restore_HasTheSameBitsInTheSameTensors) {
  ASSERT_TRUE(Write(state_).ok());
  const void* place = blank_.parameters[0].tensor.const_data_ptr();
  ASSERT_NE(DigestOf(blank_), DigestOf(state_));
  const auto restored = Restore(&blank_);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_EQ(DigestOf(blank_), DigestOf(state_));
  EXPECT_EQ(blank_.parameters[0].tensor.const_data_ptr(), place);
  EXPECT_TRUE(blank_.parameters[0].tensor.requires_grad());
}

TEST_F(TrainingStateTest, Restore_HasTheOptimizersTensorsAndTheNumbers) {
  ASSERT_TRUE(Write(state_).ok());
  ASSERT_TRUE(Restore(&blank_).ok());
  ASSERT_EQ(blank_.optimizer.size(), 2u);
  EXPECT_EQ(ddp::ParameterDigest(blank_.optimizer), ddp::ParameterDigest(state_.optimizer));
  EXPECT_EQ(blank_.step, 120u);
  EXPECT_EQ(blank_.receipt, 0xfedcba9876543210);
  EXPECT_EQ(blank_.loss_scale, 65536);
  EXPECT_EQ(blank_.steps_since_loss_scale_changed, 7u);
}

TEST_F(TrainingStateTest, Write_SaysWhatWasTrained) {
  ASSERT_TRUE(Write(state_).ok());
  const v1::CheckpointManifest manifest = OpenCheckpoint(path_)->manifest;
  EXPECT_EQ(manifest.spec().name(), kIdentity.spec.name());
  EXPECT_EQ(manifest.data_fingerprint(), "f1");
  EXPECT_EQ(manifest.build(), "tandem 0.1.0");
  EXPECT_EQ(manifest.device(), "a processor");
  EXPECT_THAT(manifest.parameters(), testing::ElementsAre("fc.weight", "fc.bias", "empty"));
  EXPECT_EQ(manifest.buffers_size(), 4);
  std::vector<ddp::NamedTensor> model = state_.parameters;
  model.insert(model.end(), state_.buffers.begin(), state_.buffers.end());
  EXPECT_EQ(manifest.parameter_digest(), ddp::ParameterDigest(model));
}

TEST_F(TrainingStateTest, Write_StridedTensor_IsWrittenRowByRow) {
  const at::Tensor columns = state_.parameters[0].tensor.detach().t().contiguous().t();
  ASSERT_FALSE(columns.is_contiguous());
  state_.parameters[0].tensor = columns;
  ASSERT_TRUE(Write(state_).ok());
  ASSERT_TRUE(Restore(&blank_).ok());
  EXPECT_TRUE(blank_.parameters[0].tensor.equal(columns));
}

TEST_F(TrainingStateTest, Restore_MissingTensor_IsNamed) {
  blank_.buffers.push_back({"bn.running_mean", at::zeros({2})});
  ExpectRefusal(blank_, "bn.running_mean", "is not there");
}

TEST_F(TrainingStateTest, Restore_TensorTooMany_IsNamed) {
  blank_.parameters.pop_back();
  ExpectRefusal(blank_, "empty", "has none of that name");
}

TEST_F(TrainingStateTest, Restore_OtherShape_IsNamed) {
  blank_.parameters[0].tensor = at::zeros({3, 2});
  ExpectRefusal(blank_, "fc.weight", "is F32 [2, 3] and that of this job F32 [3, 2]");
}

TEST_F(TrainingStateTest, Restore_OtherDtype_IsNamed) {
  blank_.parameters[1].tensor = at::zeros({2}, at::kDouble);
  ExpectRefusal(blank_, "fc.bias", "is F32 [2] and that of this job F64 [2]");
}

TEST_F(TrainingStateTest, Write_TwoOfOneName_AreRefused) {
  state_.buffers.push_back({"fc.weight", at::zeros({1})});
  const auto refused = Write(state_);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("fc.weight"));
}

TEST_F(TrainingStateTest, Write_DtypeThatSafetensorsHasNot_IsNamed) {
  state_.buffers.push_back({"wave", at::zeros({1}, at::kComplexFloat)});
  EXPECT_THAT(std::string(Write(state_).message()), HasSubstr("'wave'"));
}

TEST_F(TrainingStateTest, Write_OptimizerTensorOfAnotherName_IsRefused) {
  state_.optimizer.push_back({"fc.bias.exp_avg", at::zeros({2})});
  EXPECT_THAT(std::string(Write(state_).message()), HasSubstr("'fc.bias.exp_avg'"));
}

TEST_F(TrainingStateTest, Restore_ParameterNamedLikeTheOptimizers_StaysAParameter) {
  state_.parameters.push_back({"optimizer.weight", at::full({2}, 9)});
  blank_.parameters.push_back({"optimizer.weight", at::zeros({2}, at::kLong)});
  ASSERT_TRUE(Write(state_).ok());
  ASSERT_TRUE(Restore(&blank_).ok());
  EXPECT_EQ(DigestOf(blank_), DigestOf(state_));
  EXPECT_EQ(blank_.optimizer.size(), 2u);
}

}  // namespace
}  // namespace tandem::checkpoint
