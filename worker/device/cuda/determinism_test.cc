#include "worker/device/cuda/determinism.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tandem::device {
namespace {

using testing::HasSubstr;
using testing::Not;

class DeterminismTest : public testing::Test {
 protected:
  DeterminismTest() {
    for (const auto& [name, value] : DeterministicEnvironment())
      setenv(name.c_str(), value.c_str(), 1);
  }
};

TEST_F(DeterminismTest, WholeEnvironment_IsGood) { EXPECT_TRUE(CheckEnvironment().ok()); }

TEST_F(DeterminismTest, MissingVariable_IsNamed) {
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  const absl::Status status = CheckEnvironment();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("CUBLAS_WORKSPACE_CONFIG is not set"));
}

TEST_F(DeterminismTest, OtherValue_IsNamed) {
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  EXPECT_THAT(std::string(CheckEnvironment().message()), HasSubstr("NVIDIA_TF32_OVERRIDE is '1'"));
}

// With 1 no call of NCCL's would return before its peers are there, whatever Tandem asks for.
TEST_F(DeterminismTest, CommunicatorsThatBlock_AreRefusedAndNoMatterOfBits) {
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  EXPECT_THAT(
      std::string(CheckEnvironment().message()),
      HasSubstr("NCCL_COMM_BLOCKING is '1' in this process: the deadlines of exchanges need"));
  EXPECT_THAT(DescribeDeterminism(), Not(HasSubstr("NCCL_COMM_BLOCKING")));
}

TEST_F(DeterminismTest, VariableThatDecidesNothing_IsFree) {
  setenv("NCCL_RAS_ENABLE", "1", 1);
  EXPECT_TRUE(CheckEnvironment().ok());
}

TEST_F(DeterminismTest, Switches_AreSetInLibTorch) {
  at::Context& context = at::globalContext();
  context.setBenchmarkCuDNN(true);
  context.setAllowTF32CuBLAS(true);
  ASSERT_TRUE(SetSwitches(Switches()).ok());
  EXPECT_TRUE(context.deterministicAlgorithms());
  EXPECT_FALSE(context.benchmarkCuDNN());
  EXPECT_FALSE(context.allowTF32CuBLAS());
  EXPECT_FALSE(context.allowTF32CuDNN());
  EXPECT_EQ(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL),
            at::Float32Precision::IEEE);
}

TEST_F(DeterminismTest, SwitchThatDoesNotTake_IsNamed) {
  std::vector<Switch> switches = Switches();
  switches[2].set = [](at::Context& context) { context.setBenchmarkCuDNN(true); };
  const absl::Status status = SetSwitches(switches);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuDNN without benchmark"));
}

TEST_F(DeterminismTest, Description_HasSwitchesAndVariables) {
  EXPECT_THAT(DescribeDeterminism(), HasSubstr("cuDNN without benchmark"));
  EXPECT_THAT(DescribeDeterminism(), HasSubstr("CUBLAS_WORKSPACE_CONFIG=:4096:8"));
}

}  // namespace
}  // namespace tandem::device
