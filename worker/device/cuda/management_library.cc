#include "worker/device/cuda/management_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

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
using VersionFunction = int (*)(char* version, unsigned int length);

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Null: it is not there, or does not work. Stays loaded.
void* StartedLibrary() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto init = Find<InitFunction>(library, "nvmlInit_v2");
  return init != nullptr && init() == 0 ? library : nullptr;
}

}  // namespace

std::function<uint64_t(const std::string& uuid)> FreeMemoryReader() {
  const auto unknown = [](const std::string&) -> uint64_t { return 0; };
  void* library = StartedLibrary();
  if (library == nullptr) return unknown;
  const auto handle_of = Find<HandleFunction>(library, "nvmlDeviceGetHandleByUUID");
  const auto memory_of = Find<MemoryFunction>(library, "nvmlDeviceGetMemoryInfo");
  if (!handle_of || !memory_of) return unknown;
  return [handle_of, memory_of](const std::string& uuid) -> uint64_t {
    DeviceHandle* device = nullptr;
    MemoryInfo info = {};
    if (handle_of(uuid.c_str(), &device) != 0 || memory_of(device, &info) != 0) return 0;
    return info.free;
  };
}

std::string DriverBuild() {
  void* library = StartedLibrary();
  if (library == nullptr) return "";
  const auto version_of = Find<VersionFunction>(library, "nvmlSystemGetDriverVersion");
  char version[80] = {};  // as long as the library says that it can be
  return version_of && version_of(version, sizeof(version)) == 0 ? version : "";
}

std::string DescribeDriver(const std::string& build, const std::string& cuda_version) {
  return absl::StrCat("driver ", build.empty() ? "of a build not known" : build, ", for CUDA ",
                      cuda_version);
}

}  // namespace tandem::device
