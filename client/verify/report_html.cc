#include "client/verify/report_html.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/verify/chart.h"
#include "client/verify/difference.h"
#include "client/verify/page_style.h"
#include "client/verify/report_text.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

std::string NameOf(const v1::Verification& verification, int run) {
  return absl::StrCat("W = ", verification.runs(run).world_size(), run == 1 ? " again" : "");
}

std::vector<Series> Losses(const v1::Verification& verification) {
  std::vector<Series> all;
  for (int i = 0; i < verification.runs_size(); ++i) {
    const auto& losses = verification.runs(i).losses();
    all.push_back({NameOf(verification, i), {losses.begin(), losses.end()}});
  }
  return all;
}

// Of each run from the first. The first has a curve without points, so that the others keep their
// colours.
std::vector<Series> Differences(const v1::Verification& verification) {
  std::vector<Series> all = Losses(verification);
  const std::vector<double> first = all.front().values;
  for (Series& series : all) {
    series.values.resize(std::min(series.values.size(), first.size()));
    for (size_t i = 0; i < series.values.size(); ++i) {
      series.values[i] = RelativeDifference(first[i], series.values[i]);
    }
  }
  all.front().values.clear();
  return all;
}

std::string Element(const char* name, const std::string& text) {
  return absl::StrFormat("<%s>%s</%s>", name, Escaped(text), name);
}

std::string Legend(const v1::Verification& verification) {
  std::string html = "<p class=\"legend\">";
  for (int i = 0; i < verification.runs_size(); ++i) {
    absl::StrAppendFormat(&html, "<span><i class=\"c%u\"></i>%s</span>",
                          static_cast<unsigned>(i) % kCurveColors, NameOf(verification, i));
  }
  return absl::StrCat(html, "</p>\n");
}

std::string Figure(const std::string& chart, const std::string& caption) {
  return absl::StrCat("<figure>\n", chart, Element("figcaption", caption), "\n</figure>\n");
}

std::string Curves(const v1::Verification& verification) {
  std::string html = absl::StrCat(
      "<h2>Loss of each step</h2>\n", Legend(verification),
      Figure(Chart(Losses(verification), YAxis::kLinear, "Loss over the steps, a curve a run"),
             "Curves that are equal lie on one another."),
      "<h2>Difference from the first run</h2>\n");
  const std::string chart = Chart(Differences(verification), YAxis::kLogarithmic,
                                  "Relative difference of the loss over the steps");
  if (chart.empty()) {
    return absl::StrCat(html,
                        "<p>None: the loss of every step has the same bits in every run.</p>\n");
  }
  return absl::StrCat(html, Figure(chart,
                                   "|a - b| / max(|a|, |b|) of the losses a and b of a step. "
                                   "At 0 they have the same bits."));
}

std::string Banner(const v1::Verification& verification) {
  std::string html = absl::StrFormat("<div class=\"verdict %s\">\n<strong>%s</strong>\n",
                                     verification.passed() ? "good" : "bad",
                                     Escaped(VerdictSentence(verification)));
  for (const std::string& line : DifferenceLines(verification)) {
    absl::StrAppend(&html, "<br/>", Escaped(line), "\n");
  }
  return absl::StrCat(html, "</div>\n");
}

std::string Diagnosis(const v1::Verification& verification) {
  if (verification.findings().empty()) return "";
  std::string html = "<h2>Diagnosis</h2>\n<dl>\n";
  for (const v1::Finding& finding : verification.findings()) {
    absl::StrAppend(&html, "<dt>", Element("strong", DiagnosisText(finding.diagnosis())), "</dt>",
                    Element("dd", finding.sentence()), "\n");
  }
  return absl::StrCat(html, "</dl>\n");
}

std::string RunRow(const v1::Verification& verification, int i) {
  const v1::VerifiedRun& run = verification.runs(i);
  const std::string verdict = i == 0 ? "" : VerdictText(run.verdict(), verification.tolerance());
  const std::string parameters =
      absl::StrCat("<td>", Element("code", ShortDigest(run.parameter_digest())), "</td>");
  return absl::StrCat(
      "<tr>", Element("td", NameOf(verification, i)),
      Element("td", run.losses().empty() ? "" : NumberText(*run.losses().rbegin())),
      verification.reported() ? "" : parameters, "<td class=\"",
      run.verdict() == v1::VERDICT_DIFFERENT ? "bad" : "good", "\">",
      Escaped(run.cause().empty() ? verdict : absl::StrCat("ended early: ", run.cause())),
      "</td></tr>\n");
}

std::string Runs(const v1::Verification& verification) {
  std::string html = absl::StrCat(
      "<h2>Runs</h2>\n<div class=\"scroll\"><table>\n<tr><th>workers</th><th>last loss</th>",
      verification.reported() ? "" : "<th>parameters</th>", "<th>beside the first</th></tr>\n");
  for (int i = 0; i < verification.runs_size(); ++i) html += RunRow(verification, i);
  return absl::StrCat(html, "</table></div>\n");
}

std::string AllLosses(const v1::Verification& verification) {
  std::string html =
      "<details><summary>Every loss in full</summary>\n<div class=\"scroll\"><table>\n<tr>"
      "<th>step</th>";
  int steps = 0;
  for (int i = 0; i < verification.runs_size(); ++i) {
    absl::StrAppend(&html, Element("th", NameOf(verification, i)));
    steps = std::max(steps, verification.runs(i).losses_size());
  }
  html += "</tr>\n";
  for (int step = 0; step < steps; ++step) {
    absl::StrAppend(&html, "<tr><td>", step + 1, "</td>");
    for (const v1::VerifiedRun& run : verification.runs()) {
      const bool known = step < run.losses_size();
      absl::StrAppend(&html,
                      Element("td", known ? absl::StrFormat("%.17g", run.losses(step)) : ""));
    }
    html += "</tr>\n";
  }
  return absl::StrCat(html, "</table></div></details>\n");
}

}  // namespace

std::string FormatPage(const v1::Verification& verification) {
  const std::string title = absl::StrCat("tandem verify: ", verification.name());
  return absl::StrCat(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
      Element("title", title), "\n<style>", kPageStyle, "</style>\n</head>\n<body>\n",
      Element("h1", verification.name()), "\n<p class=\"facts\">", Escaped(FactsText(verification)),
      "</p>\n", Banner(verification), Diagnosis(verification), Runs(verification),
      Curves(verification), AllLosses(verification), "</body>\n</html>\n");
}

}  // namespace tandem::verify
