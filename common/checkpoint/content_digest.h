#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/safetensors/safetensors_file.h"
#include "common/safetensors/write_safetensors.h"

namespace tandem::checkpoint {

// SHA-256 over the text and the tensors' names, dtypes, shapes and bytes, in the order of their names,
// whatever that of the argument; 64 lower-case hexadecimal digits.
std::string ContentDigest(absl::string_view text, std::vector<safetensors::TensorView> tensors);

std::vector<safetensors::TensorView> ViewsOf(const safetensors::SafetensorsFile& file);

// What it takes to write the tensor again; valid as long as the file, which must not be moved.
safetensors::TensorView ViewOf(const safetensors::SafetensorsFile& file,
                               const safetensors::TensorInfo& tensor);

}  // namespace tandem::checkpoint
