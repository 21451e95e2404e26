#include "worker/ddp/parameter_digest.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/ddp/loopback_transport.h"

namespace tandem::ddp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ParameterDigestTest, AnyDifference_AnotherDigest) {
  const at::Tensor base = at::zeros({2, 3});
  const std::string digest = ParameterDigest({{"w", base}});
  EXPECT_EQ(digest, ParameterDigest({{"w", base.clone()}}));
  EXPECT_NE(digest, ParameterDigest({{"v", base}}));
  EXPECT_NE(digest, ParameterDigest({{"w", base.view({3, 2})}}));
  EXPECT_NE(digest, ParameterDigest({{"w", base.to(at::kInt)}}));
  EXPECT_NE(digest, ParameterDigest({{"w", -base}}));  // -0.0
  EXPECT_NE(digest, ParameterDigest({{"w", base}, {"w", base}}));
}

TEST(ParameterDigestTest, Strides_DoNotMatter) {
  const at::Tensor rows = at::arange(6).view({2, 3});
  const at::Tensor columns = rows.t().contiguous().t();
  EXPECT_EQ(ParameterDigest({{"w", rows}}), ParameterDigest({{"w", columns}}));
}

TEST(VerifyEqualDigestsTest, SameEverywhere_Ok) {
  RunRanks(3, [](Transport& transport) {
    const absl::Status status = VerifyEqualDigests(transport, {{"w", at::ones({4})}});
    EXPECT_TRUE(status.ok()) << status;
  });
}

// CASES 28.
TEST(VerifyEqualDigestsTest, OneValueOff_FirstTensorAndRankNamed) {
  RunRanks(3, [](Transport& transport) {
    std::vector<NamedTensor> tensors = {
        {"a", at::ones({4})}, {"b", at::ones({4})}, {"c", at::ones({4})}};
    if (transport.rank() == Rank(2)) {
      tensors[1].tensor[3] += 1e-7;
      tensors[2].tensor[0] += 1;
    }
    const absl::Status status = VerifyEqualDigests(transport, tensors);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'b'"), HasSubstr("rank 2")));
  });
}

TEST(VerifyEqualDigestsTest, AnotherNumberOfTensors_RankNamed) {
  RunRanks(2, [](Transport& transport) {
    const std::vector<NamedTensor> tensors(1 + transport.rank().value(), {"a", at::ones({4})});
    const absl::Status status = VerifyEqualDigests(transport, tensors);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
  });
}

}  // namespace
}  // namespace tandem::ddp
