#include "worker/device/device_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/version.h"

namespace tandem::device {
namespace {

constexpr absl::string_view kPrefix = "libtandem-";
constexpr absl::string_view kSuffix = ".so";

std::filesystem::path FolderOfThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

absl::Status Unusable(const std::string& file, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(file, " cannot be used: ", why));
}

}  // namespace

absl::StatusOr<DeviceLibrary*> LoadDeviceLibrary(const std::string& kind) {
  const std::string file = FolderOfThisProgram() / absl::StrCat(kPrefix, kind, kSuffix);
  if (!std::filesystem::exists(file)) {
    return absl::NotFoundError(
        absl::StrCat("this build has no devices of kind '", kind, "': there is no ", file));
  }
  // Functions are looked for when they are first called: a library that it needs may lack some which
  // nobody calls.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return Unusable(file, dlerror());
  const auto entry =
      reinterpret_cast<DeviceLibraryFunction>(dlsym(library, kDeviceLibraryFunction));
  if (entry == nullptr) return Unusable(file, absl::StrCat("it has no ", kDeviceLibraryFunction));
  const DeviceLibraryEntry found = entry();
  if (found.version != absl::string_view(kVersion)) {
    return Unusable(
        file, absl::StrCat("it is of Tandem ", found.version, " and this program of ", kVersion));
  }
  return found.library;
}

std::vector<std::string> DeviceKinds() {
  std::vector<std::string> kinds;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(FolderOfThisProgram(), error)) {
    const std::string filename = file.path().filename();
    absl::string_view name = filename;
    if (absl::ConsumePrefix(&name, kPrefix) && absl::ConsumeSuffix(&name, kSuffix) &&
        !name.empty()) {
      kinds.emplace_back(name);
    }
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace tandem::device
