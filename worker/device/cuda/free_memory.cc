#include "worker/device/cuda/free_memory.h"

#include <dlfcn.h>

namespace tandem::device {
namespace {

// The library's interface, as far as it is used here. Results of 0 are success.
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct DeviceHandle;
using InitFunction = int (*)();
using HandleFunction = int (*)(const char* uuid, DeviceHandle** device);
using MemoryFunction = int (*)(DeviceHandle* device, MemoryInfo* info);

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::function<uint64_t(const std::string& uuid)> FreeMemoryReader() {
  const auto unknown = [](const std::string&) -> uint64_t { return 0; };
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return unknown;
  const auto init = Find<InitFunction>(library, "nvmlInit_v2");
  const auto handle_of = Find<HandleFunction>(library, "nvmlDeviceGetHandleByUUID");
  const auto memory_of = Find<MemoryFunction>(library, "nvmlDeviceGetMemoryInfo");
  if (!init || !handle_of || !memory_of || init() != 0) return unknown;
  return [handle_of, memory_of](const std::string& uuid) -> uint64_t {
    DeviceHandle* device = nullptr;
    MemoryInfo info = {};
    if (handle_of(uuid.c_str(), &device) != 0 || memory_of(device, &info) != 0) return 0;
    return info.free;
  };
}

}  // namespace tandem::device
