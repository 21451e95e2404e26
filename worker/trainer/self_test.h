#pragma once

#include <string>
#include <vector>

namespace tandem::trainer {

// `tandem-trainer --self-test [--devices cpu|KIND:0,1] [--json]`: starts this program twice more, as the
// two ranks of a reduction whose sums are known, and says what they found. Nothing of them is left.
// Returns the exit code: 0 nothing differs, 1 something does or it did not come to its end, 2 wrong
// words. With --json it is 0 also then: the answer says it.
//
// `--self-test-rank R --devices SLOT` is one of these ranks.
int SelfTestMain(const std::vector<std::string>& arguments);

}  // namespace tandem::trainer
