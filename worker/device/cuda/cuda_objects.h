#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem::device {

inline cudaStream_t CudaStreamOf(const Stream& stream) {
  return reinterpret_cast<cudaStream_t>(stream.handle());
}

// Each is made on the device that is the thread's current one; `device` is its name, for errors.
absl::StatusOr<std::unique_ptr<Stream>> MakeCudaStream(const std::string& device);
absl::StatusOr<std::unique_ptr<Memory>> AllocateCudaMemory(size_t bytes, const std::string& device);
absl::StatusOr<std::unique_ptr<Event>> RecordCudaEvent(const Stream& stream,
                                                       const std::string& device);

// `event` is one of RecordCudaEvent.
absl::Status WaitForCudaEvent(const Stream& stream, const Event& event, const std::string& device);

// The stream that LibTorch has for the calling thread.
std::unique_ptr<Stream> TorchStream(int8_t device_index);

}  // namespace tandem::device
