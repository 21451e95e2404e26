#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tandem::device {

// NVIDIA's management library (NVML), which comes with the driver and is not there without one.

// Asks it how many bytes are free on the device with this UUID: CUDA itself would first take hundreds of
// megabytes there. 0: not known.
std::function<uint64_t(const std::string& uuid)> FreeMemoryReader();

// "580.95.05": of the driver itself, which compiles kernels for devices that a build has no code for.
// Empty: not known.
std::string DriverBuild();

// "driver 580.95.05, for CUDA 13.0", for a fingerprint.
std::string DescribeDriver(const std::string& build, const std::string& cuda_version);

}  // namespace tandem::device
