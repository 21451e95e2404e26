#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/v1/spec.pb.h"

namespace tandem::trainer {

// Writes a file that lives until the test program ends; returns its path.
std::string WriteTestFile(const std::string& name, const std::string& text);

// The bytes of a NumPy file of 64-bit integers, and of 32-bit floats.
std::string NpyFile(const std::vector<int64_t>& shape, const std::vector<int64_t>& values);
std::string NpyFile(const std::vector<int64_t>& shape, const std::vector<float>& values);

// 50 samples of 5 features in 3 classes, 42 of them trained on in global batches of 8 for 4 logical
// ranks: five full batches and one of 2, in which two logical ranks have nothing. Dropout is on.
// Two epochs, so 12 steps. All defaults are filled in.
v1::JobSpec SmallJob();

}  // namespace tandem::trainer
