#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tandem::ddp {

// The gradients of several parameters, one behind the other: a node of the tree, for one bucket.
struct FlatGradient {
  at::Tensor values;           // float32, [elements], where the parameters are
  uint8_t* present = nullptr;  // a byte per segment; where it is 0 the values mean nothing
};

// Where each parameter's segment is, and how two nodes are added.
class FlatLayout {
 public:
  // At least one, all on one device.
  explicit FlatLayout(const std::vector<at::Tensor>& parameters);

  size_t segments() const { return offsets_.size() - 1; }
  int64_t elements() const { return offsets_.back(); }
  // Where each segment begins, and at the end the number of elements.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  // Of the values: float32, where the parameters are.
  const at::TensorOptions& options() const { return options_; }

  // A view, in one dimension.
  at::Tensor Segment(const FlatGradient& gradient, size_t segment) const;

  // The part that lies in [begin, end) of the elements. It has all segments, most of them empty.
  FlatLayout Slice(int64_t begin, int64_t end) const;

  // Sets the values of absent segments to zero; they stay absent.
  void ZeroAbsent(const FlatGradient& gradient) const;

  // left + right, in place. A segment that only one of them has is that one's, bit for bit.
  void AddInto(FlatGradient& left, const FlatGradient& right) const;

 private:
  FlatLayout(std::vector<int64_t> offsets, const at::TensorOptions& options)
      : offsets_(std::move(offsets)), options_(options) {}
  bool IsComplete(const FlatGradient& gradient) const;

  std::vector<int64_t> offsets_;
  at::TensorOptions options_;
};

}  // namespace tandem::ddp
