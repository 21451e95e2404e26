#include "worker/data/array_samples.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/safetensors/tensor_info.h"
#include "worker/data/number_reader.h"

namespace tandem::data {
namespace {

// Whole numbers from 0 to `bound` - 1.
struct Index {
  int64_t bound;
  bool may_be_ignored;
  std::string key;
};

absl::Status Refuse(const ArrayView& array, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(array.place, ": ", why));
}

class Converter {
 public:
  explicit Converter(const ArrayView& array)
      : array_(array),
        reader_(ReaderOf(array.dtype)),
        stride_(safetensors::ElementBytes(array.dtype).value_or(1)),
        elements_(static_cast<int64_t>(array.bytes.size() / stride_)) {}

  absl::Status Check() const {
    if (reader_ == nullptr)
      return Refuse(array_, absl::StrCat(array_.dtype, " is no dtype of samples"));
    if (array_.shape.empty())
      return Refuse(array_, "is a single number, not one sample after another");
    if (elements_ == 0) return Refuse(array_, "is empty");
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<float>> ToFloats() const {
    std::vector<float> numbers(static_cast<size_t>(elements_));
    for (int64_t i = 0; i < elements_; ++i) {
      numbers[static_cast<size_t>(i)] = static_cast<float>(At(i));
      if (!std::isfinite(numbers[static_cast<size_t>(i)])) {
        return OfElement(i, std::isfinite(At(i)) ? "is too large for float32" : "is not finite");
      }
    }
    return numbers;
  }

  absl::StatusOr<std::vector<int64_t>> ToIndices(const Index& index) const {
    std::vector<int64_t> numbers(static_cast<size_t>(elements_));
    for (int64_t i = 0; i < elements_; ++i) {
      const double value = At(i);
      const bool is_ignored = index.may_be_ignored && value == kIgnoredTarget;
      const bool is_in_range = value >= 0 && value < static_cast<double>(index.bound);
      if (!is_ignored && (!is_in_range || std::trunc(value) != value)) {
        return OfElement(i, absl::StrCat("is not a whole number in 0..", index.bound - 1, " (",
                                         index.key, " is ", index.bound, ")"));
      }
      numbers[static_cast<size_t>(i)] = static_cast<int64_t>(value);
    }
    return numbers;
  }

 private:
  double At(int64_t i) const {
    return reader_(array_.bytes.data() + static_cast<uint64_t>(i) * stride_);
  }

  absl::Status OfElement(int64_t i, absl::string_view why) const {
    const int64_t per_sample = elements_ / array_.shape.front();
    return Refuse(array_, absl::StrCat("sample ", i / per_sample, ", number ", i % per_sample, ": ",
                                       At(i), " ", why));
  }

  const ArrayView& array_;
  const NumberReader reader_;
  const uint64_t stride_;
  const int64_t elements_;
};

// Indices where `index` has a bound, else floats.
absl::StatusOr<Numbers> Convert(const ArrayView& array, const Index& index) {
  const Converter converter(array);
  if (absl::Status status = converter.Check(); !status.ok()) return status;
  if (index.bound > 0) return converter.ToIndices(index);
  return converter.ToFloats();
}

std::vector<int64_t> ShapeOfOne(const ArrayView& array) {
  return {array.shape.begin() + 1, array.shape.end()};
}

}  // namespace

uint64_t BytesOf(const ArrayView& array) {
  return safetensors::TensorBytes(array.dtype, array.shape).value_or(0);
}

absl::StatusOr<ArrayView> WithBytes(ArrayView array, absl::string_view bytes) {
  const uint64_t announced = BytesOf(array);
  if (bytes.size() != announced) {
    return Refuse(array, absl::StrCat("has ", bytes.size() < announced ? "fewer" : "more",
                                      " than the ", announced, " bytes that its header announces"));
  }
  array.bytes = bytes;
  return array;
}

absl::StatusOr<Samples> MakeSamples(const ArrayView& inputs, const ArrayView& targets,
                                    const ArrayKeys& keys) {
  auto input = Convert(inputs, {keys.vocabulary, false, keys.kind + ".vocabulary"});
  if (!input.ok()) return input.status();
  auto target = Convert(targets, {keys.classes, true, keys.kind + ".classes"});
  if (!target.ok()) return target.status();
  if (inputs.shape.front() != targets.shape.front()) {
    return Refuse(targets, absl::StrCat("has ", targets.shape.front(), " targets for the ",
                                        inputs.shape.front(), " inputs of ", inputs.place));
  }
  return Samples{.shape = {.inputs = ShapeOfOne(inputs),
                           .vocabulary = keys.vocabulary,
                           .targets = ShapeOfOne(targets),
                           .classes = keys.classes},
                 .count = inputs.shape.front(),
                 .inputs = *std::move(input),
                 .targets = *std::move(target)};
}

}  // namespace tandem::data
