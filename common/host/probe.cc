#include "common/host/probe.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/helper_process.h"
#include "common/slot_request.h"

namespace tandem::host {
namespace {

constexpr size_t kLongestReason = 300;

absl::Status NotKnown(const std::string& trainer, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("the devices of this host are not known: `", trainer,
                                             " --probe`: ", why.substr(0, kLongestReason)));
}

// What is named in tables and in slots.
bool HasProperNames(const v1::ProbeReport& report) {
  return std::all_of(report.devices().begin(), report.devices().end(), [](const auto& device) {
    const std::string& model = device.model();
    return IsKindOfDevice(device.kind()) && device.kind() != kCpuKind &&
           std::all_of(model.begin(), model.end(), [](unsigned char c) { return c >= ' '; });
  });
}

}  // namespace

absl::StatusOr<v1::ProbeReport> ProbeDevices(const std::string& trainer, absl::Duration patience) {
  const auto printed = AskProgram(trainer, {"--probe"}, patience);
  if (!printed.ok()) return NotKnown(trainer, printed.status().message());
  google::protobuf::util::JsonParseOptions options;
  // A trainer of a later version may know more.
  options.ignore_unknown_fields = true;
  v1::ProbeReport report;
  const auto parsed = google::protobuf::util::JsonStringToMessage(*printed, &report, options);
  if (parsed.ok() && HasProperNames(report)) return report;
  return NotKnown(trainer, "it printed something else than a report of devices");
}

}  // namespace tandem::host
