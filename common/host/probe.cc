#include "common/host/probe.h"

#include <google/protobuf/util/json_util.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/helper_process.h"

namespace tandem::host {
namespace {

constexpr size_t kLongestReason = 300;

absl::Status NotKnown(const std::string& trainer, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("the devices of this host are not known: `", trainer,
                                             " --probe`: ", why.substr(0, kLongestReason)));
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
  if (parsed.ok()) return report;
  return NotKnown(trainer, "it printed something else than a report of devices");
}

}  // namespace tandem::host
