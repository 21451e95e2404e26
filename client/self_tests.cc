#include "client/self_tests.h"

#include <google/protobuf/util/json_util.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/helper_process.h"

namespace tandem::client {
namespace {

// It has shorter deadlines of its own: this one is for a trainer that is not what it should be.
constexpr absl::Duration kPatience = absl::Minutes(3);

v1::SelfTestReport RunSelfTest(const std::string& trainer, const std::string& devices) {
  v1::SelfTestReport report;
  const auto printed =
      AskProgram(trainer, {"--self-test", "--devices", devices, "--json"}, kPatience);
  if (!printed.ok()) {
    report.set_problem(std::string(printed.status().message()));
  } else if (!google::protobuf::util::JsonStringToMessage(*printed, &report).ok()) {
    report.Clear();
    report.set_problem("tandem-trainer --self-test did not print what it should");
  }
  report.set_devices(devices);
  return report;
}

}  // namespace

std::vector<v1::SelfTestReport> RunSelfTests(const std::string& trainer,
                                             const v1::ProbeReport& devices,
                                             doctor::Findings* findings) {
  std::vector<v1::SelfTestReport> reports = {RunSelfTest(trainer, "cpu")};
  std::map<std::string, std::vector<uint32_t>> by_kind;
  for (const v1::DeviceFacts& device : devices.devices()) {
    by_kind[device.kind()].push_back(device.index());
  }
  for (const auto& [kind, indices] : by_kind) {
    if (indices.size() < 2) {
      findings->NotChecked(absl::StrCat("sums ", kind),
                           "with one device there is no exchange between devices");
      continue;
    }
    reports.push_back(RunSelfTest(trainer, absl::StrCat(kind, ":", indices[0], ",", indices[1])));
  }
  return reports;
}

}  // namespace tandem::client
