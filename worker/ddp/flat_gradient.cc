#include "worker/ddp/flat_gradient.h"

#include <algorithm>

namespace tandem::ddp {

FlatLayout::FlatLayout(const std::vector<at::Tensor>& parameters)
    : offsets_{0}, options_(at::device(parameters.front().device()).dtype(at::kFloat)) {
  for (const at::Tensor& parameter : parameters) {
    offsets_.push_back(offsets_.back() + parameter.numel());
  }
}

at::Tensor FlatLayout::Segment(const FlatGradient& gradient, size_t segment) const {
  const int64_t begin = offsets_[segment];
  return gradient.values.narrow(0, begin, offsets_[segment + 1] - begin);
}

FlatLayout FlatLayout::Slice(int64_t begin, int64_t end) const {
  std::vector<int64_t> offsets;
  for (const int64_t offset : offsets_) offsets.push_back(std::clamp(offset, begin, end) - begin);
  return FlatLayout(std::move(offsets), options_);
}

void FlatLayout::ZeroAbsent(const FlatGradient& gradient) const {
  for (size_t i = 0; i < segments(); ++i) {
    if (!gradient.present[i]) Segment(gradient, i).zero_();
  }
}

bool FlatLayout::IsComplete(const FlatGradient& gradient) const {
  return std::all_of(gradient.present, gradient.present + segments(),
                     [](uint8_t present) { return present != 0; });
}

void FlatLayout::AddInto(FlatGradient& left, const FlatGradient& right) const {
  if (IsComplete(left) && IsComplete(right)) {  // the usual case, in one sweep
    left.values.add_(right.values);
    return;
  }
  for (size_t i = 0; i < segments(); ++i) {
    if (!right.present[i]) continue;
    if (left.present[i]) {
      Segment(left, i).add_(Segment(right, i));
    } else {
      Segment(left, i).copy_(Segment(right, i));
      left.present[i] = 1;
    }
  }
}

}  // namespace tandem::ddp
