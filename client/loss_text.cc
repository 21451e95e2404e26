#include "client/loss_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/job_text.h"
#include "client/table.h"

namespace tandem::client {
namespace {

// `count` indices below `size`, evenly spread; the last is size - 1.
std::vector<size_t> Spread(size_t size, size_t count) {
  count = std::min(size, count);
  std::vector<size_t> indices;
  for (size_t i = 1; i <= count; ++i) indices.push_back(i * size / count - 1);
  return indices;
}

// Means of as many equal shares as `width` allows.
std::vector<double> Thinned(const std::vector<double>& values, size_t width) {
  std::vector<double> means;
  size_t begin = 0;
  for (size_t last : Spread(values.size(), width)) {
    const size_t count = last + 1 - begin;
    const auto first = values.begin() + static_cast<ptrdiff_t>(begin);
    means.push_back(std::accumulate(first, first + static_cast<ptrdiff_t>(count), 0.0) /
                    static_cast<double>(count));
    begin = last + 1;
  }
  return means;
}

const char* Bar(double value, double low, double high) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!std::isfinite(value)) return "x";
  if (high <= low) return kBars[0];
  return kBars[std::lround((value - low) / (high - low) * 7)];
}

const v1::Evaluation* EvaluationAt(const v1::GetHistoryResponse& history, uint64_t step) {
  const auto found =
      std::find_if(history.evaluations().begin(), history.evaluations().end(),
                   [step](const v1::Evaluation& evaluation) { return evaluation.step() == step; });
  return found == history.evaluations().end() ? nullptr : &*found;
}

std::string LossCell(const v1::StepSample& sample, int digits, const char* none) {
  const std::optional<double> loss = LossOf(sample);
  return loss ? absl::StrFormat("%.*g", digits, *loss) : none;
}

// Empty where nothing was measured, or targets are numbers.
std::string AccuracyCell(const v1::Evaluation* evaluation) {
  if (evaluation == nullptr || !evaluation->has_accuracy()) return "";
  return absl::StrFormat("%.2f %%", 100 * evaluation->accuracy());
}

std::vector<Cell> LossRow(const v1::StepSample& sample, const v1::Evaluation* evaluation) {
  return {{absl::StrCat(sample.step())},
          // Counted from 1, as people do.
          {absl::StrCat(sample.epoch() + 1)},
          {LossCell(sample, 6, "-")},
          {absl::StrFormat("%.4g", sample.learning_rate())},
          {evaluation == nullptr ? "" : LossText(evaluation->loss())},
          {AccuracyCell(evaluation)}};
}

}  // namespace

std::optional<double> LossOf(const v1::StepSample& sample) {
  if (sample.count() == 0) return std::nullopt;
  return sample.loss_sum() / static_cast<double>(sample.count());
}

std::string Sparkline(const std::vector<double>& values, size_t width) {
  const std::vector<double> means = Thinned(values, width);
  std::vector<double> finite = means;
  std::erase_if(finite, [](double value) { return !std::isfinite(value); });
  if (finite.empty()) return std::string(means.size(), 'x');
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  std::string line;
  for (double mean : means) line += Bar(mean, *low, *high);
  return line;
}

std::string FormatLossTable(const v1::GetHistoryResponse& history, size_t most_rows) {
  std::vector<std::vector<Cell>> rows = {
      {{"STEP"}, {"EPOCH"}, {"LOSS"}, {"RATE"}, {"HELD-OUT LOSS"}, {"ACCURACY"}}};
  for (size_t i : Spread(static_cast<size_t>(history.samples_size()), most_rows)) {
    const v1::StepSample& sample = history.samples(static_cast<int>(i));
    rows.push_back(LossRow(sample, EvaluationAt(history, sample.step())));
  }
  return FormatTable(rows, false);
}

std::string FormatLossCsv(const v1::GetHistoryResponse& history) {
  std::string csv = "step,epoch,loss,samples,learning_rate\n";
  for (const v1::StepSample& sample : history.samples()) {
    absl::StrAppendFormat(&csv, "%u,%u,%s,%u,%.17g\n", sample.step(), sample.epoch(),
                          LossCell(sample, 17, ""), sample.count(), sample.learning_rate());
  }
  return csv;
}

}  // namespace tandem::client
