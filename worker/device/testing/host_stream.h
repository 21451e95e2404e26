#pragma once

#include "worker/device/device.h"

namespace tandem::device {

// Of the host's device, for tests: what a library that puts work into its streams (the stand-in of
// NCCL in tests/nccl, loaded at run time) sees of one. Functions may be called by any thread.
struct StreamHandle {
  // Runs `task` on `argument` after all that was put there before. It may block.
  void (*run)(StreamHandle* stream, void (*task)(void*), void* argument);
  // Whether the address is in the memory of the stream's device.
  bool (*owns)(StreamHandle* stream, const void* address);
};

}  // namespace tandem::device
