#include "worker/data/synthetic.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/keyed_hash.h"
#include "worker/data/normal.h"
#include "worker/data/permutation.h"

namespace tandem::data {
namespace {

// Nothing that is made from it comes near the end of float32.
constexpr double kMaxNoise = 1e30;

class SyntheticSource : public SampleSource {
 public:
  SyntheticSource(uint64_t seed, uint64_t samples, SampleShape shape)
      : seed_(seed), size_(static_cast<int64_t>(samples)), shape_(std::move(shape)) {}

  int64_t size() const override { return size_; }
  const SampleShape& shape() const override { return shape_; }

 protected:
  // For part `index` of what is to be learned, and for a sample.
  KeyedGenerator TaskGenerator(uint64_t index) const {
    return KeyedGenerator(MixKeys(RandomUse::kSynthetic, seed_, uint64_t{0}, index));
  }
  KeyedGenerator SampleGenerator(int64_t index) const {
    return KeyedGenerator(
        MixKeys(RandomUse::kSynthetic, seed_, uint64_t{1}, static_cast<uint64_t>(index)));
  }

 private:
  const uint64_t seed_;
  const int64_t size_;
  const SampleShape shape_;
};

class Classification : public SyntheticSource {
 public:
  Classification(const v1::SyntheticClassification& spec, uint64_t samples, uint64_t seed)
      : SyntheticSource(seed, samples,
                        {.inputs = {spec.features()}, .targets = {}, .classes = spec.classes()}),
        noise_(spec.noise()) {}

  void Copy(int64_t index, NumberSpan input, NumberSpan target) const override {
    KeyedGenerator generator = SampleGenerator(index);
    const uint64_t label = generator.Below(static_cast<uint64_t>(shape().classes));
    KeyedGenerator centre_generator = TaskGenerator(label);
    NormalNumbers centre(&centre_generator);
    NormalNumbers around(&generator);
    for (float& feature : std::get<absl::Span<float>>(input)) {
      const double middle = centre.Next();
      feature = static_cast<float>(middle + noise_ * around.Next());
    }
    std::get<absl::Span<int64_t>>(target)[0] = static_cast<int64_t>(label);
  }

 private:
  const double noise_;
};

class Regression : public SyntheticSource {
 public:
  Regression(const v1::SyntheticRegression& spec, uint64_t samples, uint64_t seed)
      : SyntheticSource(seed, samples, {.inputs = {spec.features()}, .targets = {spec.outputs()}}),
        noise_(spec.noise()) {}

  void Copy(int64_t index, NumberSpan input, NumberSpan target) const override {
    KeyedGenerator generator = SampleGenerator(index);
    NormalNumbers normal(&generator);
    const auto features = std::get<absl::Span<float>>(input);
    const auto outputs = std::get<absl::Span<float>>(target);
    for (float& feature : features) feature = static_cast<float>(normal.Next());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const double exact = Output(i, features);
      outputs[i] = static_cast<float>(exact + noise_ * normal.Next());
    }
  }

 private:
  // Of deviation 1 over all samples, however many features there are.
  double Output(uint64_t output, absl::Span<const float> features) const {
    KeyedGenerator generator = TaskGenerator(output);
    NormalNumbers weights(&generator);
    double sum = 0;
    for (const float feature : features) sum += weights.Next() * feature;
    return sum / std::sqrt(static_cast<double>(features.size()));
  }

  const double noise_;
};

class Squares : public SyntheticSource {
 public:
  Squares(const v1::SyntheticSquares& spec, uint64_t samples, uint64_t seed)
      : SyntheticSource(
            seed, samples,
            {.inputs = {spec.side(), spec.side()}, .targets = {}, .classes = spec.classes()}),
        side_(spec.side()),
        noise_(spec.noise()) {}

  void Copy(int64_t index, NumberSpan input, NumberSpan target) const override {
    KeyedGenerator generator = SampleGenerator(index);
    const auto classes = static_cast<uint64_t>(shape().classes);
    const uint64_t label = generator.Below(classes);
    const uint64_t size = (label + 1) * side_ / (classes + 1);
    const uint64_t top = generator.Below(side_ - size + 1);
    const uint64_t left = generator.Below(side_ - size + 1);
    NormalNumbers normal(&generator);
    float* pixel = std::get<absl::Span<float>>(input).data();
    for (uint64_t y = 0; y < side_; ++y) {
      for (uint64_t x = 0; x < side_; ++x) {
        // Left of or above the square, the difference wraps and is large.
        const bool inside = y - top < size && x - left < size;
        *pixel++ = static_cast<float>((inside ? 1 : 0) + noise_ * normal.Next());
      }
    }
    std::get<absl::Span<int64_t>>(target)[0] = static_cast<int64_t>(label);
  }

 private:
  const uint64_t side_;
  const double noise_;
};

absl::Status CheckNoise(double noise, absl::string_view kind) {
  if (noise <= kMaxNoise) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("data.synthetic.", kind, ".noise: ", noise, " is more than ", kMaxNoise));
}

absl::Status CheckSizes(const v1::SyntheticSquares& spec) {
  if (spec.classes() < spec.side()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("data.synthetic.squares.classes: ", spec.classes(),
                                                 " different sizes do not fit into a side of ",
                                                 spec.side()));
}

template <typename Source, typename Spec>
absl::StatusOr<std::unique_ptr<SampleSource>> Make(const Spec& spec, absl::string_view kind,
                                                   uint64_t samples, uint64_t seed) {
  if (absl::Status status = CheckNoise(spec.noise(), kind); !status.ok()) return status;
  return std::make_unique<Source>(spec, samples, seed);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SampleSource>> MakeSynthetic(const v1::Synthetic& spec,
                                                            uint64_t seed) {
  switch (spec.kind_case()) {
    case v1::Synthetic::kClassification:
      return Make<Classification>(spec.classification(), "classification", spec.samples(), seed);
    case v1::Synthetic::kRegression:
      return Make<Regression>(spec.regression(), "regression", spec.samples(), seed);
    case v1::Synthetic::kSquares:
      if (absl::Status status = CheckSizes(spec.squares()); !status.ok()) return status;
      return Make<Squares>(spec.squares(), "squares", spec.samples(), seed);
    case v1::Synthetic::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("data.synthetic: one kind must be given");
}

}  // namespace tandem::data
