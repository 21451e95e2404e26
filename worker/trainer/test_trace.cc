#include "worker/trainer/test_trace.h"

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/frame.h"

namespace tandem::trainer {

RankTrace ReadTrace(const std::string& folder, uint32_t rank) {
  std::ifstream file(absl::StrCat(folder, "/rank-", rank, ".trace"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  RankTrace trace;
  if (!TakeFrame(&bytes, &trace.header).value_or(false)) return trace;
  v1::StepTrace step;
  while (TakeFrame(&bytes, &step).value_or(false)) trace.steps.push_back(step);
  return trace;
}

}  // namespace tandem::trainer
