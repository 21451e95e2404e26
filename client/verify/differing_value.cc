// Which number of a tensor differs, from its bytes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "client/verify/difference.h"

namespace tandem::verify {
namespace {

template <typename T>
double Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

struct Format {
  size_t bytes;
  double (*load)(const char*);
};

const Format* FormatOf(const std::string& dtype) {
  static const auto& formats = *new std::map<std::string, Format>{
      {"", {4, Load<float>}},        {"float32", {4, Load<float>}}, {"float64", {8, Load<double>}},
      {"int64", {8, Load<int64_t>}}, {"int32", {4, Load<int32_t>}},
  };
  const auto found = formats.find(dtype);
  return found == formats.end() ? nullptr : &found->second;
}

// Row-major. A tensor whose shape is not known is a row of numbers.
std::vector<int64_t> IndexOf(uint64_t element, const v1::TensorDigest& tensor) {
  const auto& shape = tensor.shape();
  if (shape.empty()) return {static_cast<int64_t>(element)};
  std::vector<int64_t> index;
  auto rest = static_cast<int64_t>(element);
  for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
    if (*size <= 0) return {static_cast<int64_t>(element)};
    index.push_back(rest % *size);
    rest /= *size;
  }
  std::reverse(index.begin(), index.end());
  return index;
}

// Of a tensor whose shape is not known, as many as there are.
uint64_t SizeOf(const v1::TensorDigest& tensor, uint64_t there_are) {
  if (tensor.shape().empty()) return there_are;
  return std::accumulate(tensor.shape().begin(), tensor.shape().end(), uint64_t{1},
                         [](uint64_t size, int64_t length) { return size * length; });
}

const std::string& ValuesAt(const RankTrace& rank, uint64_t step) {
  static const auto& none = *new std::string;
  if (step == 0) return rank.header.values();
  const v1::StepTrace* trace = StepOf(rank, step);
  return trace == nullptr ? none : trace->values();
}

}  // namespace

std::optional<v1::DifferingValue> FirstDifferingValue(const v1::TensorDigest& tensor,
                                                      const std::string& first,
                                                      const std::string& other) {
  const Format* format = FormatOf(tensor.dtype());
  if (format == nullptr || first.empty() || first.size() != other.size()) return std::nullopt;
  v1::DifferingValue value;
  value.set_compared(first.size() / format->bytes);
  value.set_size(SizeOf(tensor, value.compared()));
  for (uint64_t element = 0; element < value.compared(); ++element) {
    const char* a = first.data() + element * format->bytes;
    const char* b = other.data() + element * format->bytes;
    if (std::memcmp(a, b, format->bytes) == 0) continue;
    value.set_differing(value.differing() + 1);
    if (value.differing() > 1) continue;
    value.set_first(format->load(a));
    value.set_other(format->load(b));
    for (int64_t i : IndexOf(element, tensor)) value.add_index(i);
  }
  return value;
}

std::optional<v1::DifferingValue> FirstDifferingValue(const v1::Difference& difference,
                                                      const Run& first, const Run& other) {
  if (first.ranks.empty()) return std::nullopt;
  const uint64_t step = difference.tensor_step();
  const RankTrace& rank0 = first.ranks.front();
  const Tensors& tensors = TensorsAt(rank0, step);
  const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const auto& candidate) {
    return candidate.name() == difference.tensor();
  });
  if (tensor == tensors.end()) return std::nullopt;
  std::optional<v1::DifferingValue> equal;
  for (const RankTrace& rank : other.ranks) {
    auto value = FirstDifferingValue(*tensor, ValuesAt(rank0, step), ValuesAt(rank, step));
    if (value && value->differing() > 0) return value;
    if (value) equal = std::move(value);
  }
  return equal;
}

}  // namespace tandem::verify
