#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/samples.h"

namespace tandem::data {

// An array as a file holds it, row after row, one sample along its first dimension.
struct ArrayView {
  std::string place;           // what messages begin with: file and key
  std::string dtype;           // as in safetensors: "F32", "I64", "U8"
  std::vector<int64_t> shape;  // as many elements as `bytes` holds
  absl::string_view bytes;
};

// How many bytes dtype and shape ask for, which safetensors::TensorBytes can count.
uint64_t BytesOf(const ArrayView& array);

// `array`, whose header was read, of these bytes.
//   InvalidArgument  they are not as many; the message starts with its place.
absl::StatusOr<ArrayView> WithBytes(ArrayView array, absl::string_view bytes);

// How the numbers of two arrays are meant.
struct ArrayKeys {
  std::string kind;         // "data.npy", the key above `classes` and `vocabulary`
  uint32_t classes = 0;     // above 0: targets are classes
  uint32_t vocabulary = 0;  // above 0: inputs are tokens
};

// Converts and checks every number.
//   InvalidArgument  no samples, not as many inputs as targets, a dtype that is no number, a number
//                    that is not finite, or a token or class out of range; names the array's place,
//                    the sample (counted from 0), the number within it and the key.
absl::StatusOr<Samples> MakeSamples(const ArrayView& inputs, const ArrayView& targets,
                                    const ArrayKeys& keys);

}  // namespace tandem::data
