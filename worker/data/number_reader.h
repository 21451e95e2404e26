#pragma once

#include "absl/strings/string_view.h"

namespace tandem::data {

// Gives one little-endian element, which need not be aligned, as a number. Exact but for whole
// numbers beyond 2^53.
using NumberReader = double (*)(const char* element);

// For a dtype of safetensors, such as "F32"; null: not one that samples can be of.
NumberReader ReaderOf(absl::string_view dtype);

}  // namespace tandem::data
