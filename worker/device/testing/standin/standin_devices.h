#pragma once

#include <c10/core/Device.h>

#include "worker/device/testing/host_device.h"

// FOR TESTS ONLY. The stand-in backend: what LibTorch calls "standin:0" is main memory, and its
// kernels are the CPU's. Whatever works there can be proved on a machine without a device.
namespace tandem::device::standin {

constexpr c10::DeviceIndex kDevices = 4;

// Lives until the process ends.
HostDevice& DeviceAt(c10::DeviceIndex index);

// Of this thread.
c10::DeviceIndex CurrentDevice();
void SetCurrentDevice(c10::DeviceIndex index);

// Until all work on the compute stream of the device is done. LibTorch's kernels run here at once, and
// not as work of that stream: they wait for it instead.
void AwaitComputeStream(c10::Device device);

}  // namespace tandem::device::standin
