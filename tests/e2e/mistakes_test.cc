// `tandem verify` on the real binaries names each mistake of examples/mistakes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/verify.pb.h"
#include "tests/harness/process.h"
#include "tests/harness/verify_fixture.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

using MistakesTest = VerifyFixture;

struct Mistake {
  const char* file;
  v1::Diagnosis diagnosis;
};

class EachMistakeTest : public MistakesTest, public ::testing::WithParamInterface<Mistake> {};

TEST_P(EachMistakeTest, Verify_ExitsWith1AndNamesIt) {
  const Verified verified =
      Verify(absl::StrCat("examples/mistakes/", GetParam().file, ".yaml"), {"--workers", "1,2"});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_EQ(verified.found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(verified.found.diagnosis(), GetParam().diagnosis) << verified.found.DebugString();
}

INSTANTIATE_TEST_SUITE_P(
    Examples, EachMistakeTest,
    ::testing::Values(Mistake{"batch_per_rank", v1::DIAGNOSIS_BATCH_SIZE},
                      Mistake{"order_by_rank", v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER},
                      Mistake{"same_order_every_epoch", v1::DIAGNOSIS_SAME_ORDER_EVERY_EPOCH},
                      Mistake{"averaged_twice", v1::DIAGNOSIS_GRADIENT_SCALE},
                      Mistake{"summed", v1::DIAGNOSIS_GRADIENT_SCALE},
                      Mistake{"same_dropout_mask", v1::DIAGNOSIS_SAME_DROPOUT_MASK},
                      Mistake{"dropout_by_rank", v1::DIAGNOSIS_DROPOUT_BY_RANK},
                      Mistake{"batch_norm_by_rank", v1::DIAGNOSIS_BATCH_NORM_BY_RANK},
                      Mistake{"threads_by_world_size", v1::DIAGNOSIS_THREADS},
                      Mistake{"weights_by_world_size", v1::DIAGNOSIS_INITIAL_WEIGHTS},
                      Mistake{"unseeded", v1::DIAGNOSIS_NOT_REPEATABLE}),
    [](const auto& info) { return std::string(info.param.file); });

// The control: it is the switch that makes the mistake.
TEST_F(MistakesTest, AveragedTwice_WithoutItsSwitch_IsBitEqual) {
  const Verified verified = Verify("examples/mistakes/averaged_twice.yaml",
                                   {"--workers", "1,2", "--set", "unsafe.gradient_scale=exact"});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_EQ(verified.found.verdict(), v1::VERDICT_BIT_EQUAL) << verified.found.DebugString();
}

TEST_F(MistakesTest, Allreduce_IsWithinToleranceForTheOrderOfAdditions) {
  const Verified verified = Verify("examples/mistakes/allreduce.yaml", {"--workers", "1,2"});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_EQ(verified.found.verdict(), v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_EQ(verified.found.diagnosis(), v1::DIAGNOSIS_ORDER_OF_ADDITIONS);
  EXPECT_EQ(Verify("examples/mistakes/allreduce.yaml", {"--workers", "1,2", "--tolerance", "0"})
                .exit_code,
            1);
}

TEST_F(MistakesTest, FirstDifferingTensor_HasBothValues) {
  const Verified verified =
      Verify("examples/mistakes/averaged_twice.yaml", {"--workers", "1,2", "--steps", "3"});
  ASSERT_TRUE(verified.found.difference().has_value()) << verified.found.DebugString();
  EXPECT_NE(verified.found.difference().value().first(),
            verified.found.difference().value().other());
}

TEST_F(MistakesTest, Html_IsWritten) {
  const std::string page = folder_.File("page.html");
  Verify("examples/mistakes/summed.yaml", {"--workers", "1,2", "--html", page});
  EXPECT_THAT(ReadFile(page), HasSubstr("gradient scaled"));
}

}  // namespace
}  // namespace tandem::testing
