#include "client/doctor/report_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/table.h"

namespace tandem::client::doctor {
namespace {

Cell SeverityCell(v1::Severity severity) {
  switch (severity) {
    case v1::SEVERITY_OK:
      return {"ok", Color::kGreen};
    case v1::SEVERITY_NOTE:
      return {"note"};
    case v1::SEVERITY_NOT_CHECKED:
      return {"not checked", Color::kFaint};
    case v1::SEVERITY_WARNING:
      return {"warning", Color::kYellow};
    default:
      return {"problem", Color::kRed};
  }
}

size_t Count(const std::vector<v1::HostFinding>& findings, v1::Severity severity) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [severity](const auto& finding) { return finding.severity() == severity; }));
}

std::string Summary(const std::vector<v1::HostFinding>& findings) {
  const size_t problems = Count(findings, v1::SEVERITY_PROBLEM);
  std::vector<std::string> parts = {problems == 0   ? "no problem"
                                    : problems == 1 ? "1 problem"
                                                    : absl::StrCat(problems, " problems")};
  if (const size_t warnings = Count(findings, v1::SEVERITY_WARNING)) {
    parts.push_back(absl::StrCat(warnings, warnings == 1 ? " warning" : " warnings"));
  }
  if (const size_t unknown = Count(findings, v1::SEVERITY_NOT_CHECKED)) {
    parts.push_back(absl::StrCat(unknown, " not checked"));
  }
  return absl::StrJoin(parts, ", ") + "\n";
}

// As wide in every block, so that columns stand below each other.
Cell Padded(Cell cell, size_t width) {
  if (cell.text.size() < width) cell.text.resize(width, ' ');
  return cell;
}

size_t WidestAspect(const std::vector<v1::HostFinding>& findings) {
  size_t widest = 0;
  for (const v1::HostFinding& finding : findings)
    widest = std::max(widest, finding.aspect().size());
  return widest;
}

}  // namespace

std::string FormatFindings(const std::vector<v1::HostFinding>& findings, bool color) {
  constexpr size_t kWidestSeverity = 11;  // "not checked"
  const size_t widest_aspect = WidestAspect(findings);
  std::string text;
  for (auto next = findings.begin(); next != findings.end();) {
    const std::string& subject = next->subject();
    std::vector<std::vector<Cell>> rows;
    for (; next != findings.end() && next->subject() == subject; ++next) {
      rows.push_back({{""},
                      Padded(SeverityCell(next->severity()), kWidestSeverity),
                      Padded({next->aspect()}, widest_aspect),
                      {next->found()}});
      if (next->remedy().empty()) continue;
      rows.push_back({{""}, {""}, {""}, {"-> " + next->remedy(), Color::kFaint}});
    }
    absl::StrAppend(&text, subject, "\n", FormatTable(rows, color), "\n");
  }
  return text + Summary(findings);
}

}  // namespace tandem::client::doctor
