// Causes that show in the samples: how many, which, and in which order.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/loss_text.h"
#include "client/verify/causes.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

uint64_t SamplesSeen(const Run& run, uint64_t steps) {
  uint64_t seen = 0;
  for (uint64_t step = 1; step <= steps; ++step) seen += BatchAt(run, step).size();
  return seen;
}

// "; the loss of step 20 is 0.4 against 0.5". Empty without such a step in both.
std::string LossesAt(uint64_t step, const Pair& pair) {
  if (step == 0 || pair.first.samples.size() < step || pair.other.samples.size() < step) return "";
  const std::optional<double> first = client::LossOf(pair.first.samples[step - 1]);
  const std::optional<double> other = client::LossOf(pair.other.samples[step - 1]);
  if (!first || !other) return "";
  return absl::StrFormat("; the loss of step %u is %s against %s", step, NumberText(*other),
                         NumberText(*first));
}

// How many samples two epochs must have to say that they are in the same order: four in the same
// order by chance are rare.
constexpr ptrdiff_t kTelling = 4;

bool BeginAlike(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto both = static_cast<ptrdiff_t>(std::min(a.size(), b.size()));
  return both >= kTelling && std::equal(a.begin(), a.begin() + both, b.begin());
}

bool RepeatsTheOneBefore(const std::map<uint64_t, EpochOrder>& epochs, uint64_t number) {
  const auto before = epochs.find(number - 1);
  return before != epochs.end() && BeginAlike(before->second.samples, epochs.at(number).samples);
}

// The first epoch that begins as the one before does, where it does not in `others`.
std::optional<uint64_t> RepeatedOnlyIn(const std::map<uint64_t, EpochOrder>& epochs,
                                       const std::map<uint64_t, EpochOrder>& others) {
  for (const auto& [number, epoch] : epochs) {
    if (!RepeatsTheOneBefore(epochs, number)) continue;
    if (others.contains(number) && !RepeatsTheOneBefore(others, number)) return number;
  }
  return std::nullopt;
}

std::string SameOrderText(const Run& run, const EpochOrder& order, uint64_t epoch,
                          const Run& other) {
  return absl::StrFormat("at %s epoch %u has the samples in the order of epoch %u (%s), at %s not",
                         NameOf(run), epoch + 1, epoch, IdsText(order.samples), NameOf(other));
}

// By id.
std::map<int64_t, uint64_t> Occurrences(const EpochOrder& epoch) {
  std::map<int64_t, uint64_t> occurrences;
  for (int64_t id : epoch.samples) ++occurrences[id];
  return occurrences;
}

std::vector<int64_t> MoreThanOnce(const std::map<int64_t, uint64_t>& occurrences) {
  std::vector<int64_t> ids;
  for (const auto& [id, count] : occurrences) {
    if (count > 1) ids.push_back(id);
  }
  return ids;
}

// Ids of `all` that `some` does not have.
std::vector<int64_t> Missing(const std::map<int64_t, uint64_t>& all,
                             const std::map<int64_t, uint64_t>& some) {
  std::vector<int64_t> ids;
  for (const auto& [id, count] : all) {
    if (!some.contains(id)) ids.push_back(id);
  }
  return ids;
}

std::string TimesText(absl::string_view times, const std::vector<int64_t>& ids) {
  return absl::StrFormat("%s came %s (%s)", Counted(ids.size(), "sample"), times, IdsText(ids));
}

Sentence TwiceOrNeverIn(uint64_t number, const EpochOrder& first, const EpochOrder& other,
                        const Pair& pair) {
  const auto here = Occurrences(other), there = Occurrences(first);
  const std::vector<int64_t> twice = MoreThanOnce(here), twice_there = MoreThanOnce(there);
  std::vector<int64_t> never;
  // Before the end of an epoch what has not come may still do so; and where both leave out as many,
  // that is the short batch at the end.
  if (first.complete && other.complete && here.size() < there.size()) never = Missing(there, here);
  if (twice.size() <= twice_there.size() && never.empty()) return std::nullopt;
  std::vector<std::string> facts;
  if (!twice.empty()) facts.push_back(TimesText("more than once", twice));
  if (!never.empty()) facts.push_back(TimesText("never", never));
  return absl::StrFormat(
      "in epoch %u at %s %s; at %s %s more than once", number + 1, NameOf(pair.other),
      absl::StrJoin(facts, " and "), NameOf(pair.first),
      twice_there.empty() ? "none came" : absl::StrCat(twice_there.size(), " came"));
}

bool SameSamples(std::vector<int64_t> a, std::vector<int64_t> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

Sentence BatchSize(const Pair& pair) {
  const uint64_t steps = CommonSteps(pair.first, pair.other);
  for (uint64_t step = 1; step <= steps; ++step) {
    const size_t there = BatchAt(pair.first, step).size(), here = BatchAt(pair.other, step).size();
    if (here == there || there == 0) continue;
    return absl::StrFormat(
        "step %u has a global batch of %s at %s and of %u at %s, %s times as many: in %s they saw "
        "%u and %u, so that losses of the same step do not compare%s",
        step, Counted(here, "sample"), NameOf(pair.other), there, NameOf(pair.first),
        MagnitudeText(static_cast<double>(here) / static_cast<double>(there)),
        Counted(steps, "step"), SamplesSeen(pair.other, steps), SamplesSeen(pair.first, steps),
        LossesAt(steps, pair));
  }
  return std::nullopt;
}

Sentence SameOrderEveryEpoch(const Pair& pair) {
  const auto there = EpochsOf(pair.first), here = EpochsOf(pair.other);
  if (const auto epoch = RepeatedOnlyIn(here, there)) {
    return SameOrderText(pair.other, here.at(*epoch), *epoch, pair.first);
  }
  if (const auto epoch = RepeatedOnlyIn(there, here)) {
    return SameOrderText(pair.first, there.at(*epoch), *epoch, pair.other);
  }
  return std::nullopt;
}

Sentence SamplesTwiceOrNever(const Pair& pair) {
  const auto there = EpochsOf(pair.first), here = EpochsOf(pair.other);
  for (const auto& [number, other] : here) {
    const auto first = there.find(number);
    if (first == there.end()) continue;
    Sentence sentence = TwiceOrNeverIn(number, first->second, other, pair);
    if (sentence) return sentence;
  }
  return std::nullopt;
}

Sentence OtherOrder(const Pair& pair) {
  for (uint64_t step = 1; step <= CommonSteps(pair.first, pair.other); ++step) {
    const std::vector<int64_t> there = BatchAt(pair.first, step), here = BatchAt(pair.other, step);
    if (here == there) continue;
    return absl::StrFormat(
        "step %u was trained on %s: %s at %s, %s at %s", step,
        SameSamples(there, here) ? "the same samples in another order" : "other samples",
        IdsText(there), NameOf(pair.first), IdsText(here), NameOf(pair.other));
  }
  return std::nullopt;
}

}  // namespace tandem::verify
