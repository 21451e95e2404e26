#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tandem::device {

// What the device's own libraries call a stream: cudaStream_t of CUDA and NCCL. Never dereferenced.
struct StreamHandle;

// Work for a device, done in the order in which it was put there. Any thread; one at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual StreamHandle* handle() const = 0;
};

// A place in a stream.
class Event {
 public:
  virtual ~Event() = default;
  // Whether all work before it is done; does not block. Internal: the device has failed.
  virtual absl::StatusOr<bool> Reached() const = 0;
};

// Memory of a device, given back at the end. Whoever uses it has waited for the work on it.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() const = 0;
};

// What is added by AddInTree: float32 values in the device's memory.
struct TreeSum {
  // A node of the reduction tree with its values: of leaves [begin, begin + size).
  struct Block {
    uint32_t begin = 0;
    uint32_t size = 1;
    const float* values = nullptr;     // [elements]
    const uint8_t* present = nullptr;  // main memory, a byte per segment: 0 means absent
  };
  std::vector<Block> blocks;  // all of the root's, from left to right
  // Where each segment begins, and at the end the number of elements: main memory, rising.
  std::vector<int64_t> offsets;
  // [elements]; may be the first block's values. What no block has is left as it is.
  float* sum = nullptr;
  // What each sum is multiplied by, once.
  float scale = 1;
};

// The one device that a rank trains on, as transports and sums see it; LibTorch has it under
// torch_name(). Small on purpose: a host version of it serves the tests of all that is above.
// Thread-safe. Every error is Internal, in the device's own words, and final.
class Device {
 public:
  virtual ~Device() = default;

  // "cuda:0": for at::Device.
  virtual std::string torch_name() const = 0;
  // All that bits depend on: model, capability, versions of the libraries, the switches that were
  // set. Equal texts, equal bits.
  virtual std::string Fingerprint() const = 0;
  // The library that connects several of them: "libnccl.so.2", for dlopen.
  virtual std::string collectives() const = 0;

  // Whether the address is in this device's memory, and not in main memory.
  virtual bool Owns(const void* address) const = 0;
  virtual absl::StatusOr<std::unique_ptr<Memory>> Allocate(size_t bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> MakeStream() = 0;
  // Where LibTorch puts what this thread asks for. Lives as long as the device.
  virtual Stream& ComputeStream() = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> Record(Stream& stream) = 0;
  // What is put into `stream` from now on begins after `event`. Does not block.
  virtual absl::Status WaitFor(Stream& stream, const Event& event) = 0;
  // Between main memory and the device's, in any direction, as work of `stream`. Main memory that is
  // read from may be used again on return; that which is written to, once the stream is there.
  virtual absl::Status Copy(void* to, const void* from, size_t bytes, Stream& stream) = 0;

  // As work of `stream`: for each element the sum of its blocks in the tree of
  // worker/ddp/reduction_tree.h, in float32, each addition rounded once, absent blocks skipped,
  // times `scale`. Its bits do not depend on how the device cuts it up. Main memory named by `sum`
  // may be used again on return.
  virtual absl::Status AddInTree(const TreeSum& sum, Stream& stream) = 0;
};

}  // namespace tandem::device
