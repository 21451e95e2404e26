#include "common/spec/cross_rules.h"

#include <algorithm>
#include <bit>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/slot_request.h"
#include "common/spec/plain_text.h"
#include "common/spec/reserved_variables.h"
#include "re2/re2.h"

namespace tandem::spec {
namespace {

template <typename... Parts>
std::optional<Violation> Broken(absl::string_view key, const Parts&... parts) {
  return Violation{std::string(key), absl::StrCat(key, ": ", parts...)};
}

std::optional<Violation> NameIsPlain(const v1::JobSpec& spec) {
  constexpr size_t kLongestName = 63;
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  if (spec.name().size() > kLongestName) {
    return Broken("name", spec.name().size(), " characters are too many: at most ", kLongestName);
  }
  const auto odd = std::find_if_not(spec.name().begin(), spec.name().end(), is_plain);
  if (odd == spec.name().end()) return std::nullopt;
  return Broken("name", "character ", odd - spec.name().begin() + 1,
                " is not a letter, a digit, '.', '_' or '-'");
}

std::optional<Violation> DeviceIsAKind(const v1::JobSpec& spec) {
  if (!spec.has_device() || IsKindOfDevice(spec.device())) return std::nullopt;
  return Broken("device", "'", Excerpt(spec.device()),
                "' is no kind of device: cpu, or another one as in tandem-worker --slots, such as "
                "cuda; workers are told which of them to offer");
}

std::optional<Violation> LogicalRanksArePowerOfTwo(const v1::JobSpec& spec) {
  const uint32_t ranks = spec.logical_ranks();
  if (std::has_single_bit(ranks)) return std::nullopt;
  return Broken("logical_ranks", ranks, " is not a power of two: ", std::bit_floor(ranks), " and ",
                std::bit_ceil(ranks), " are the nearest");
}

std::optional<Violation> EveryWorkerHasLogicalRank(const v1::JobSpec& spec) {
  if (spec.workers() <= spec.logical_ranks()) return std::nullopt;
  return Broken("workers", spec.workers(), " is more than logical_ranks (", spec.logical_ranks(),
                "): every worker executes at least one");
}

std::optional<Violation> FewestWorkersAreAtMostTheMost(const v1::JobSpec& spec) {
  if (spec.min_workers() <= spec.workers()) return std::nullopt;
  return Broken("workers.min", spec.min_workers(), " is more than workers.max (", spec.workers(),
                ")");
}

std::optional<Violation> ElasticJobSaves(const v1::JobSpec& spec) {
  const bool is_elastic = spec.has_min_workers() && spec.min_workers() < spec.workers();
  if (!is_elastic || spec.has_checkpoint()) return std::nullopt;
  return Broken("checkpoint",
                "required by workers with min below max: a job goes on from its checkpoint with "
                "another number of workers");
}

std::optional<Violation> EveryLogicalRankHasShare(const v1::JobSpec& spec) {
  if (spec.has_command() || spec.logical_ranks() <= spec.global_batch_size()) return std::nullopt;
  return Broken("global_batch_size", spec.global_batch_size(), " is less than logical_ranks (",
                spec.logical_ranks(), "): every logical rank needs a share");
}

std::optional<Violation> KernelHasMiddle(const v1::JobSpec& spec) {
  const uint32_t kernel = spec.model().convnet().kernel();
  if (!spec.model().has_convnet() || kernel % 2 == 1) return std::nullopt;
  return Broken("model.convnet.kernel", kernel, " is even: the picture would not keep its size");
}

std::optional<Violation> HeadsDivideWidth(const v1::JobSpec& spec) {
  const v1::Gpt& gpt = spec.model().gpt();
  if (!spec.model().has_gpt() || gpt.width() % gpt.heads() == 0) return std::nullopt;
  return Broken("model.gpt.width", gpt.width(), " is not a multiple of model.gpt.heads (",
                gpt.heads(), "): every head needs the same part");
}

std::optional<Violation> ScaledRateHasBase(const v1::JobSpec& spec) {
  if (spec.has_command() || spec.scale_lr() == v1::SCALE_LR_NONE ||
      spec.has_base_global_batch_size()) {
    return std::nullopt;
  }
  return Broken("base_global_batch_size",
                "required by scale_lr: the batch that the learning rate was chosen for");
}

std::optional<Violation> SynchronizedModelCanBeCut(const v1::JobSpec& spec) {
  if (spec.batch_norm() != v1::BATCH_NORM_SYNCHRONIZED || !spec.model().has_torchscript()) {
    return std::nullopt;
  }
  return Broken("batch_norm",
                "synchronized needs a model that can be stopped before each normalization, which "
                "model.torchscript cannot; take per_logical_rank, or model.convnet");
}

// Both texts would number their own characters: the same token would mean another one.
std::optional<Violation> MeasuredTextHasTheSameTokens(const v1::JobSpec& spec) {
  constexpr absl::string_view kWhy =
      "characters are numbered as they occur in each file, so a token would not mean the same in "
      "data and evaluate.data; take bytes in both, or evaluate.holdout";
  if (!spec.evaluate().data().has_text()) return std::nullopt;
  if (spec.evaluate().data().text().unit() == v1::TEXT_UNIT_CHARACTERS) {
    return Broken("evaluate.data.text.unit", kWhy);
  }
  if (spec.data().text().unit() == v1::TEXT_UNIT_CHARACTERS) return Broken("data.text.unit", kWhy);
  return std::nullopt;
}

std::optional<Violation> CommandHasProgram(const v1::JobSpec& spec) {
  for (int i = 0; i < spec.command().argv_size(); ++i) {
    const std::string key = absl::StrCat("command.argv[", i, "]");
    const std::string& word = spec.command().argv(i);
    if (i == 0 && word.empty()) return Broken(key, "is empty: the program is missing");
    if (FirstByteThatIsNotText(word)) return Broken(key, "is not UTF-8, or has a zero byte");
  }
  return std::nullopt;
}

std::optional<Violation> VariablesAreFree(const v1::JobSpec& spec) {
  std::set<std::string> given;
  for (int i = 0; i < spec.command().env_size(); ++i) {
    const std::string key = absl::StrCat("command.env[", i, "]");
    const std::string& text = spec.command().env(i);
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (FirstByteThatIsNotText(text)) return Broken(key, "is not UTF-8, or has a zero byte");
    if (equals == std::string::npos || name.empty()) {
      return Broken(key, "expected NAME=VALUE, found '", Excerpt(text), "'");
    }
    if (name == "OMP_NUM_THREADS") return Broken(key, name, " is set by threads_per_rank");
    if (IsReservedVariable(name)) return Broken(key, name, " is set by Tandem");
    if (!given.insert(name).second) return Broken(key, name, " is given twice");
  }
  return std::nullopt;
}

std::optional<Violation> PatternHasGroup(absl::string_view key, const std::string& pattern) {
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  if (!expression.ok()) return Broken(key, "no regular expression: ", expression.error());
  if (expression.NumberOfCapturingGroups() > 0) return std::nullopt;
  return Broken(key, "has no group: put brackets around the number");
}

std::optional<Violation> PatternsHaveGroup(const v1::JobSpec& spec) {
  const v1::Parse& parse = spec.command().parse();
  if (!spec.command().has_parse()) return std::nullopt;
  if (auto broken = PatternHasGroup("command.parse.loss", parse.loss())) return broken;
  return parse.has_step() ? PatternHasGroup("command.parse.step", parse.step()) : std::nullopt;
}

}  // namespace

const std::vector<CrossRule>& CrossRules() {
  static const auto& rules = *new std::vector<CrossRule>{
      {"`name` has only letters, digits, `.`, `_` and `-`, at most 63.", NameIsPlain},
      {"`device` is a kind, without a number: lower-case letters and digits.", DeviceIsAKind},
      {"`logical_ranks` is a power of two.", LogicalRanksArePowerOfTwo},
      {"`workers` is at most `logical_ranks`.", EveryWorkerHasLogicalRank},
      {"`workers.min` is at most `workers.max`.", FewestWorkersAreAtMostTheMost},
      {"`workers` with `min` below `max` needs `checkpoint`.", ElasticJobSaves},
      {"`logical_ranks` is at most `global_batch_size`.", EveryLogicalRankHasShare},
      {"`model.convnet.kernel` is odd.", KernelHasMiddle},
      {"`model.gpt.width` is a multiple of `model.gpt.heads`.", HeadsDivideWidth},
      {"`scale_lr` other than `none` needs `base_global_batch_size`.", ScaledRateHasBase},
      {"`batch_norm: synchronized` does not go with `model.torchscript`.",
       SynchronizedModelCanBeCut},
      {"`evaluate.data.text` needs `unit: bytes`, there and in `data.text`.",
       MeasuredTextHasTheSameTokens},
      {"`command.argv` begins with a program.", CommandHasProgram},
      {"`command.env` has each variable once, and none that Tandem sets.", VariablesAreFree},
      {"`command.parse` has regular expressions with a group.", PatternsHaveGroup},
  };
  return rules;
}

uint32_t DefaultLogicalRanks(uint32_t workers) {
  // bit_ceil has no value beyond; such a number of workers is refused by its bound.
  return std::bit_ceil(std::min(workers, uint32_t{1} << 31));
}

}  // namespace tandem::spec
