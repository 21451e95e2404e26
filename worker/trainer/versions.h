#pragma once

#include <string>

namespace tandem::trainer {

// "LibTorch 2.11.0": what this program was compiled with. Devices other than the CPU bring libraries
// of their own (rank_device.h).
std::string LibraryVersions();

// The processor and the instructions that LibTorch uses of it: kernels, and so bits, depend on both.
std::string KindOfCpu();

}  // namespace tandem::trainer
