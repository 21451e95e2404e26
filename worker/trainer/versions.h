#pragma once

#include <string>

namespace tandem::trainer {

// "LibTorch 2.11.0, CUDA none, NCCL none": what this program was compiled with.
std::string LibraryVersions();

}  // namespace tandem::trainer
