#include "common/host/devices.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/helper_process.h"
#include "common/host/probe.h"

namespace tandem::host {
namespace {

// Empty: it is not there.
std::string FindInPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string file = absl::StrCat(folder, "/", program);
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// "[N/A]", where the driver does not say, is 0.
template <typename Number>
bool ReadNumber(const std::string& text, Number* number) {
  *number = 0;
  return absl::StartsWith(text, "[") || absl::SimpleAtoi(text, number);
}

// A name may have commas of its own: it is what stands between the first two and the last.
bool ReadProcess(absl::string_view line, v1::DeviceProcess* process) {
  std::vector<std::string> words = absl::StrSplit(line, ',');
  if (words.size() < 4) return false;
  for (std::string& word : words) absl::StripAsciiWhitespace(&word);
  int64_t pid = 0;
  uint64_t mebibytes = 0;
  if (!ReadNumber(words[1], &pid) || !ReadNumber(words.back(), &mebibytes)) return false;
  process->set_uuid(words[0]);
  process->set_pid(pid);
  process->set_name(absl::StrJoin(words.begin() + 2, words.end() - 1, ","));
  process->set_bytes(mebibytes << 20);
  return true;
}

// Of a file with one number, "0x10de"; 0 where there is none.
unsigned NumberIn(const std::filesystem::path& file) {
  std::ifstream text(file);
  unsigned number = 0;
  text >> std::hex >> number;
  return number;
}

const char* VendorOf(const std::filesystem::path& device) {
  constexpr unsigned kDisplay = 0x03, kAccelerator = 0x12;
  const unsigned base_class = NumberIn(device / "class") >> 16;
  if (base_class != kDisplay && base_class != kAccelerator) return nullptr;
  switch (NumberIn(device / "vendor")) {
    case 0x10de:
      return "NVIDIA";
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<v1::BusDevice> AcceleratorsIn(const std::string& list) {
  std::map<std::string, std::string> found;
  std::error_code error;
  for (const auto& device : std::filesystem::directory_iterator(list, error)) {
    if (const char* vendor = VendorOf(device.path())) found[device.path().filename()] = vendor;
  }
  std::vector<v1::BusDevice> accelerators;
  for (const auto& [bus_id, vendor] : found) {
    v1::BusDevice& one = accelerators.emplace_back();
    one.set_bus_id(bus_id);
    one.set_vendor(vendor);
  }
  return accelerators;
}

void AddDevices(const std::string& trainer, absl::Duration patience, v1::HostFacts* facts) {
  if (access(trainer.c_str(), X_OK) != 0) {
    facts->set_trainer_missing(true);
    facts->set_probe_problem(absl::StrCat("there is no tandem-trainer at ", trainer));
    return;
  }
  auto report = ProbeDevices(trainer, patience);
  if (!report.ok()) return facts->set_probe_problem(std::string(report.status().message()));
  *facts->mutable_probe() = *std::move(report);
}

v1::DeviceMemoryUse AskForDeviceMemory(const std::string& program, absl::Duration patience) {
  v1::DeviceMemoryUse use;
  const std::string path = FindInPath(program);
  if (path.empty()) {
    use.set_problem(absl::StrCat("there is no ", program, " in PATH"));
    return use;
  }
  const auto printed = AskProgram(path,
                                  {"--query-compute-apps=gpu_uuid,pid,process_name,used_memory",
                                   "--format=csv,noheader,nounits"},
                                  patience);
  auto parsed = printed.ok() ? ParseDeviceMemory(*printed) : printed.status();
  if (parsed.ok()) return *std::move(parsed);
  use.set_problem(std::string(parsed.status().message()));
  return use;
}

absl::StatusOr<v1::DeviceMemoryUse> ParseDeviceMemory(const std::string& text) {
  v1::DeviceMemoryUse use;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    if (ReadProcess(line, use.add_processes())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("nvidia-smi printed something else than processes: ", line.substr(0, 100)));
  }
  return use;
}

}  // namespace tandem::host
