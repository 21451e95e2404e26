#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/permutation.h"
#include "worker/data/sample_shape.h"

namespace tandem::data {

// What is done to the inputs of one sample: random crop, flip, scale, normalize, in that order. The
// random ones are drawn from the seed, the epoch and the index of the sample, and from nothing else.
// Immutable and thread-safe.
class Transforms {
 public:
  // `spec` has all defaults filled in. Pictures are of shape {height, width} or {channels, height,
  // width}.
  //   InvalidArgument  a transform does not suit the shape; names the key.
  static absl::StatusOr<Transforms> Create(const v1::Transforms& spec, const SampleShape& shape,
                                           uint64_t seed);

  bool empty() const { return padding_ == 0 && flip_ == 0 && !scale_ && means_.empty(); }

  // Changes the inputs of sample `index` in place. Without an epoch nothing random is done, as when
  // measuring.
  //   InvalidArgument  a number is not finite any more; names the sample and the key.
  absl::Status Apply(std::optional<uint64_t> epoch, int64_t index, absl::Span<float> inputs) const;

 private:
  Transforms(const v1::Transforms& spec, const SampleShape& shape, uint64_t seed);

  // Each channel is a picture of its own.
  void Crop(KeyedGenerator* generator, absl::Span<float> inputs) const;
  void Flip(KeyedGenerator* generator, absl::Span<float> inputs) const;
  void Normalize(absl::Span<float> inputs) const;

  uint64_t seed_;
  int64_t height_ = 0;  // 0: inputs are no pictures
  int64_t width_ = 0;
  int64_t padding_;
  double flip_;
  std::optional<double> scale_;
  std::vector<double> means_, deviations_;  // one for each of as many equal parts of the inputs
};

}  // namespace tandem::data
