#include "worker/trainer/receipt.h"

#include <cmath>
#include <set>

#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

v1::StepSample Sample() {
  v1::StepSample sample;
  sample.set_samples_digest(7);
  sample.set_loss_sum(0.1);
  sample.set_count(8);
  sample.set_parameter_digest("0a1b");
  return sample;
}

TEST(Receipt, EverythingThatIsCovered_ChangesIt) {
  std::set<uint64_t> receipts = {ExtendReceipt(0, Sample(), true),
                                 ExtendReceipt(1, Sample(), true)};
  v1::StepSample changed = Sample();
  changed.set_samples_digest(8);
  receipts.insert(ExtendReceipt(0, changed, true));
  changed = Sample();
  changed.set_loss_sum(std::nextafter(0.1, 1));
  receipts.insert(ExtendReceipt(0, changed, true));
  changed = Sample();
  changed.set_count(9);
  receipts.insert(ExtendReceipt(0, changed, true));
  changed = Sample();
  changed.set_parameter_digest("0a1c");
  receipts.insert(ExtendReceipt(0, changed, true));
  changed.clear_parameter_digest();
  receipts.insert(ExtendReceipt(0, changed, true));
  EXPECT_EQ(receipts.size(), 7u);
}

TEST(Receipt, SameSteps_SameReceipt) {
  EXPECT_EQ(ExtendReceipt(5, Sample(), true), ExtendReceipt(5, Sample(), true));
}

TEST(Receipt, LastStepOfAJob_HasThatOfALongerOne) {
  v1::StepSample of_longer = Sample();
  of_longer.clear_parameter_digest();
  EXPECT_EQ(ExtendReceipt(5, Sample(), false), ExtendReceipt(5, of_longer, false));
}

// The epoch and the learning rate follow from the step, which the order of the receipts counts.
TEST(Receipt, OtherOrderOfSteps_OtherReceipt) {
  v1::StepSample other = Sample();
  other.set_loss_sum(0.2);
  EXPECT_NE(ExtendReceipt(ExtendReceipt(0, Sample(), true), other, true),
            ExtendReceipt(ExtendReceipt(0, other, true), Sample(), true));
}

}  // namespace
}  // namespace tandem::trainer
