#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tandem::device {

// Asks NVIDIA's management library, which comes with the driver, how many bytes are free on the
// device with this UUID: CUDA itself would first take hundreds of megabytes there. 0: not known.
std::function<uint64_t(const std::string& uuid)> FreeMemoryReader();

}  // namespace tandem::device
