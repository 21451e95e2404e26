// FOR TESTS ONLY: what NVIDIA's management library says of a driver and of one device with 5 GB left.
#include <cstring>

namespace {

struct MemoryInfo {
  unsigned long long total, free, used;
};
char the_device;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &the_device;
  return std::strcmp(uuid, "GPU-1") == 0 ? 0 : 6;
}

int nvmlDeviceGetMemoryInfo(void* device, MemoryInfo* info) {
  *info = {8'000'000'000, 5'000'000'000, 3'000'000'000};
  return device == &the_device ? 0 : 2;
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::strncpy(version, "580.95.05", length);
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
