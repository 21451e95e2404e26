#include "worker/data/transforms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/keyed_hash.h"

namespace tandem::data {
namespace {

bool IsPicture(const SampleShape& shape) {
  return shape.inputs.size() == 2 || shape.inputs.size() == 3;
}

// Channels of a picture, or features.
int64_t Parts(const SampleShape& shape) {
  if (shape.inputs.size() == 2) return 1;
  return shape.inputs.empty() ? 1 : shape.inputs.front();
}

template <typename... Words>
absl::Status Refuse(absl::string_view key, const Words&... why) {
  return absl::InvalidArgumentError(absl::StrCat("data.transforms", key, ": ", why...));
}

absl::Status CheckPicture(absl::string_view key, const SampleShape& shape) {
  if (IsPicture(shape)) return absl::OkStatus();
  return Refuse(key, "inputs of shape [", absl::StrJoin(shape.inputs, ", "),
                "] are no pictures; those have a height, a width and perhaps channels before them");
}

absl::Status CheckCrop(const v1::Transforms& spec, const SampleShape& shape) {
  if (!spec.has_random_crop()) return absl::OkStatus();
  if (absl::Status status = CheckPicture(".random_crop", shape); !status.ok()) return status;
  const int64_t smaller = std::min(*shape.inputs.rbegin(), *std::next(shape.inputs.rbegin()));
  if (spec.random_crop().padding() < smaller) return absl::OkStatus();
  return Refuse(".random_crop.padding", spec.random_crop().padding(),
                " would move a picture of shape [", absl::StrJoin(shape.inputs, ", "),
                "] out of sight");
}

absl::Status CheckNormalize(const v1::Transforms& spec, const SampleShape& shape) {
  if (!spec.has_normalize()) return absl::OkStatus();
  const int means = spec.normalize().mean_size(), deviations = spec.normalize().std_size();
  if (means != deviations) {
    return Refuse(".normalize.std", deviations, " of them for ", means, " of mean");
  }
  if (means == 1 || means == Parts(shape)) return absl::OkStatus();
  return Refuse(".normalize.mean", means, " of them; inputs of shape [",
                absl::StrJoin(shape.inputs, ", "), "] take 1 or ", Parts(shape));
}

absl::Status Check(const v1::Transforms& spec, const SampleShape& shape) {
  const bool any =
      spec.has_random_crop() || spec.has_flip() || spec.has_scale() || spec.has_normalize();
  if (any && shape.vocabulary > 0) return Refuse("", "inputs are tokens, which cannot be changed");
  absl::Status status = CheckCrop(spec, shape);
  if (spec.has_flip()) status.Update(CheckPicture(".flip", shape));
  status.Update(CheckNormalize(spec, shape));
  return status;
}

}  // namespace

absl::StatusOr<Transforms> Transforms::Create(const v1::Transforms& spec, const SampleShape& shape,
                                              uint64_t seed) {
  if (absl::Status status = Check(spec, shape); !status.ok()) return status;
  return Transforms(spec, shape, seed);
}

Transforms::Transforms(const v1::Transforms& spec, const SampleShape& shape, uint64_t seed)
    : seed_(seed),
      padding_(spec.random_crop().padding()),
      flip_(spec.flip().probability()),
      means_(spec.normalize().mean().begin(), spec.normalize().mean().end()),
      deviations_(spec.normalize().std().begin(), spec.normalize().std().end()) {
  if (spec.has_scale()) scale_ = spec.scale();
  if (!IsPicture(shape)) return;
  width_ = shape.inputs.back();
  height_ = *std::next(shape.inputs.rbegin());
}

absl::Status Transforms::Apply(std::optional<uint64_t> epoch, int64_t index,
                               absl::Span<float> inputs) const {
  if (epoch) {
    KeyedGenerator generator(
        MixKeys(RandomUse::kAugment, seed_, *epoch, static_cast<uint64_t>(index)));
    if (padding_ > 0) Crop(&generator, inputs);
    if (flip_ > 0) Flip(&generator, inputs);
  }
  if (scale_) {
    for (float& x : inputs) x = static_cast<float>(x * *scale_);
  }
  Normalize(inputs);
  const auto* bad =
      std::find_if_not(inputs.begin(), inputs.end(), [](float x) { return std::isfinite(x); });
  if (bad == inputs.end()) return absl::OkStatus();
  return Refuse(means_.empty() ? ".scale" : ".normalize", "sample ", index, ", number ",
                bad - inputs.begin(), " is not finite any more");
}

void Transforms::Crop(KeyedGenerator* generator, absl::Span<float> inputs) const {
  const auto distance = [&] {
    return static_cast<int64_t>(generator->Below(static_cast<uint64_t>(2 * padding_ + 1))) -
           padding_;
  };
  const int64_t down = distance(), right = distance();
  const std::vector<float> old(inputs.begin(), inputs.end());
  std::fill(inputs.begin(), inputs.end(), 0.0F);
  // Columns that stay within the picture.
  const int64_t from = std::max<int64_t>(0, -right), columns = width_ - std::abs(right);
  const auto rows = static_cast<int64_t>(inputs.size()) / width_;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t y = row % height_ + down;
    if (y < 0 || y >= height_) continue;
    std::copy_n(old.data() + row * width_ + from, columns,
                inputs.data() + (row + down) * width_ + from + right);
  }
}

void Transforms::Flip(KeyedGenerator* generator, absl::Span<float> inputs) const {
  if (generator->Fraction() >= flip_) return;
  for (float* row = inputs.begin(); row != inputs.end(); row += width_) {
    std::reverse(row, row + width_);
  }
}

void Transforms::Normalize(absl::Span<float> inputs) const {
  if (means_.empty()) return;
  const size_t size = inputs.size() / means_.size();
  for (size_t part = 0; part < means_.size(); ++part) {
    for (float& x : inputs.subspan(part * size, size)) {
      x = static_cast<float>((x - means_[part]) / deviations_[part]);
    }
  }
}

}  // namespace tandem::data
