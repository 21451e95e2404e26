#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/doctor/diagnose.h"

namespace tandem::client::doctor {

void DiagnoseSelfTest(const v1::SelfTestReport& report, Findings* findings) {
  const std::string aspect = absl::StrCat("sums ", report.devices());
  const bool is_cpu = absl::StartsWith(report.devices(), "cpu");
  const std::string remedy =
      is_cpu ? "train nothing here: memory that fails, or a build that does not fit this processor"
             : kExchangeRemedy;
  for (const v1::SelfTestCase& one : report.cases()) {
    const std::string found =
        absl::StrCat(one.name(), ": ", one.values(), " values compared, ", one.different(),
                     " differ", one.first_difference().empty() ? "" : ": ", one.first_difference());
    if (one.different() == 0 && one.values() > 0) {
      findings->Ok(aspect, found);
    } else {
      findings->Problem(aspect, found, remedy);
    }
  }
  if (report.problem().empty() && report.cases().empty()) {
    findings->NotChecked(aspect, "the two-rank self-test of this tandem-trainer compared nothing");
  }
  if (report.problem().empty()) return;
  findings->Problem(
      aspect, absl::StrCat("the two-rank self-test did not come to its end: ", report.problem()),
      absl::StrCat("run `tandem-trainer --self-test --devices ", report.devices(), "` by hand",
                   is_cpu ? "" : "; ", is_cpu ? "" : kExchangeRemedy));
}

}  // namespace tandem::client::doctor
