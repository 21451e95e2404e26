#include "worker/trainer/receipt.h"

#include <bit>

#include "common/keyed_hash.h"

namespace tandem::trainer {

uint64_t ExtendReceipt(uint64_t receipt, const v1::StepSample& sample, bool with_parameters) {
  uint64_t extended = MixKeys(RandomUse::kReceipt, receipt, uint64_t{sample.samples_digest()},
                              std::bit_cast<uint64_t>(sample.loss_sum()), uint64_t{sample.count()});
  if (!with_parameters) return extended;
  for (const unsigned char digit : sample.parameter_digest()) {
    extended = MixKeys(RandomUse::kReceipt, extended, uint64_t{digit});
  }
  return extended;
}

}  // namespace tandem::trainer
