#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tandem::device {

//   Internal  `error` is one: "cuda:0: copying: an illegal memory access was encountered
//             (cudaErrorIllegalAddress)". It is forgotten by CUDA, if CUDA can.
absl::Status CudaStatus(cudaError_t error, absl::string_view device, absl::string_view doing);

// Why this process has no device. OK: it has one.
//   FailedPrecondition  one line: which of driver and device is missing, and what to do.
absl::Status CheckDriver();

// "13.0", as CUDA writes it: 13000. Empty for 0.
std::string CudaVersion(int version);
std::string DriverVersion();  // what it supports; its build is another (management_library.h)
std::string RuntimeVersion();

}  // namespace tandem::device
