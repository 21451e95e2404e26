#include "worker/data/samples.h"

#include <algorithm>

namespace tandem::data {
namespace {

void CopyRow(const Numbers& from, int64_t row, NumberSpan to) {
  std::visit(
      [&](auto span) {
        using Number = typename decltype(span)::value_type;
        const auto& numbers = std::get<std::vector<Number>>(from);
        std::copy_n(numbers.data() + static_cast<size_t>(row) * span.size(), span.size(),
                    span.data());
      },
      to);
}

}  // namespace

void MemorySource::Copy(int64_t index, NumberSpan input, NumberSpan target) const {
  CopyRow(samples_.inputs, index, input);
  CopyRow(samples_.targets, index, target);
}

}  // namespace tandem::data
