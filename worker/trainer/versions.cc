#include "worker/trainer/versions.h"

#include <fstream>

#include "ATen/Version.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "torch/version.h"

namespace tandem::trainer {

std::string LibraryVersions() { return absl::StrCat("LibTorch ", TORCH_VERSION); }

std::string KindOfCpu() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!absl::StartsWith(line, "model name")) continue;
    const std::string model = line.substr(line.find(':') + 1);
    return absl::StrCat(absl::StripAsciiWhitespace(model), ", ", at::get_cpu_capability());
  }
  return at::get_cpu_capability();
}

}  // namespace tandem::trainer
