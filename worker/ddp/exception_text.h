#pragma once

#include <exception>
#include <string>

namespace tandem::ddp {

// What LibTorch threw, on one line: without its stack, and of an error inside a TorchScript file
// the cause.
std::string OneLine(const std::exception& error);

}  // namespace tandem::ddp
