#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "worker/device/device.h"
#include "worker/device/testing/host_memory.h"
#include "worker/device/testing/host_queue.h"

namespace tandem::device {

// For tests: a device made of the host. Its memory is the host's, kept apart by address alone, and its
// streams are threads, so that a forked process makes one of its own. Its streams take work through
// host_stream.h. Outlives its streams and events, but not its memory. Thread-safe.
class HostDevice : public Device {
 public:
  struct Options {
    std::string torch_name = "privateuseone:0";
    std::string collectives = "libnccl.so.2";
    absl::Duration copy_time = absl::ZeroDuration();  // what each copy takes at least
  };
  explicit HostDevice(Options options);
  HostDevice() : HostDevice(Options()) {}

  std::string torch_name() const override { return options_.torch_name; }
  std::string Fingerprint() const override { return "the host, in place of a device"; }
  std::string collectives() const override { return options_.collectives; }

  bool Owns(const void* address) const override { return memory_->Owns(address); }
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(size_t bytes) override;

  absl::StatusOr<std::unique_ptr<Stream>> MakeStream() override;
  Stream& ComputeStream() override { return compute_; }
  absl::StatusOr<std::unique_ptr<Event>> Record(Stream& stream) override;
  absl::Status WaitFor(Stream& stream, const Event& event) override;
  absl::Status Copy(void* to, const void* from, size_t bytes, Stream& stream) override;

  //   Internal  the blocks are not all of one root's.
  absl::Status AddInTree(const TreeSum& sum, Stream& stream) override;

 private:
  const Options options_;
  const std::shared_ptr<HostMemory> memory_ = std::make_shared<HostMemory>();
  HostQueue compute_;
};

}  // namespace tandem::device
