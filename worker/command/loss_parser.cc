#include "worker/command/loss_parser.h"

#include <re2/re2.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tandem::command {
namespace {

absl::StatusOr<std::unique_ptr<RE2>> Compile(absl::string_view key, const std::string& pattern) {
  auto expression = std::make_unique<RE2>(pattern, RE2::Quiet);
  if (!expression->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("command.parse.", key, ": ", expression->error()));
  }
  if (expression->NumberOfCapturingGroups() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("command.parse.", key, ": '", pattern,
                     "' has no group, such as ([0-9.]+), for the number"));
  }
  return expression;
}

absl::Status NotANumber(absl::string_view key, const std::string& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("command.parse.", key, " found '", found, "', which is not a number"));
}

}  // namespace

LossParser::LossParser(std::unique_ptr<RE2> loss, std::unique_ptr<RE2> step)
    : loss_(std::move(loss)), step_(std::move(step)) {}
LossParser::LossParser(LossParser&&) noexcept = default;
LossParser::~LossParser() = default;

absl::StatusOr<LossParser> LossParser::Create(const v1::Parse& parse) {
  auto loss = Compile("loss", parse.loss());
  if (!loss.ok()) return loss.status();
  if (!parse.has_step()) return LossParser(*std::move(loss), nullptr);
  auto step = Compile("step", parse.step());
  if (!step.ok()) return step.status();
  return LossParser(*std::move(loss), *std::move(step));
}

absl::StatusOr<std::optional<v1::StepReport>> LossParser::Add(const std::string& line) {
  std::string loss_text, step_text;
  if (!RE2::PartialMatch(line, *loss_, &loss_text)) return std::nullopt;
  if (step_ != nullptr && !RE2::PartialMatch(line, *step_, &step_text)) return std::nullopt;
  double loss = 0;
  if (!absl::SimpleAtod(loss_text, &loss)) return NotANumber("loss", loss_text);
  uint64_t step = ++lines_;
  if (step_ != nullptr && !absl::SimpleAtoi(step_text, &step)) return NotANumber("step", step_text);
  v1::StepReport report;
  report.set_step(step);
  report.set_loss_sum(loss);
  report.set_count(1);
  report.set_combined(true);
  return report;
}

}  // namespace tandem::command
