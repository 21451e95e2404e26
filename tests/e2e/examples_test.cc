// The promise, on the examples: `tandem verify` says bit-equal on one to four workers. That it can say
// anything else is shown by mistakes_test.cc.
#include "gtest/gtest.h"
#include "tests/harness/verify_fixture.h"

namespace tandem::testing {
namespace {

class ExamplesTest : public VerifyFixture {
 protected:
  void ExpectBitEqual(const std::string& spec) {
    const Verified verified = Verify(spec, {"--workers", "1,2,3,4"});
    EXPECT_EQ(verified.exit_code, 0);
    EXPECT_EQ(verified.found.verdict(), v1::VERDICT_BIT_EQUAL) << verified.found.DebugString();
    EXPECT_EQ(verified.found.level(), v1::EQUIVALENCE_LEVEL_BITWISE);
    EXPECT_EQ(verified.found.steps(), 20u);
    ASSERT_EQ(verified.found.runs_size(), 5);
    for (const v1::VerifiedRun& run : verified.found.runs()) {
      EXPECT_EQ(run.losses_size(), 20);
      EXPECT_EQ(run.parameter_digest(), verified.found.runs(0).parameter_digest());
      EXPECT_GT(run.evaluation().samples(), 0u);
    }
  }
};

TEST_F(ExamplesTest, Digits_OnOneToFour_IsBitEqual) { ExpectBitEqual("examples/digits.yaml"); }

TEST_F(ExamplesTest, SquaresConvnet_OnOneToFour_IsBitEqual) {
  ExpectBitEqual("examples/squares_convnet.yaml");
}

TEST_F(ExamplesTest, Shakespeare_OnOneToFour_IsBitEqual) {
  ExpectBitEqual("examples/shakespeare.yaml");
}

}  // namespace
}  // namespace tandem::testing
