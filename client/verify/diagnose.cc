#include "client/verify/diagnose.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

struct Cause {
  v1::Diagnosis diagnosis;
  Sentence (*find)(const Pair&);
};

// In the order in which one may bring about the next.
constexpr Cause kCauses[] = {
    {v1::DIAGNOSIS_INITIAL_WEIGHTS, InitialWeights},
    {v1::DIAGNOSIS_BATCH_SIZE, BatchSize},
    {v1::DIAGNOSIS_SAME_ORDER_EVERY_EPOCH, SameOrderEveryEpoch},
    {v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER, SamplesTwiceOrNever},
    {v1::DIAGNOSIS_LEARNING_RATE, LearningRate},
    {v1::DIAGNOSIS_SAME_DROPOUT_MASK, SameDropoutMask},
    {v1::DIAGNOSIS_DROPOUT_BY_RANK, DropoutByRank},
    {v1::DIAGNOSIS_GRADIENT_SCALE, GradientScale},
    {v1::DIAGNOSIS_BATCH_NORM_BY_RANK, BatchNormByRank},
    {v1::DIAGNOSIS_RANKS_DRIFT, RanksDrift},
    {v1::DIAGNOSIS_THREADS, Threads},
};

// Where none of those is found.
constexpr Cause kFallbacks[] = {
    {v1::DIAGNOSIS_OTHER_ORDER, OtherOrder},
    {v1::DIAGNOSIS_ORDER_OF_ADDITIONS, OrderOfAdditions},
};

v1::Finding FindingOf(v1::Diagnosis diagnosis, std::string sentence, const Pair& pair) {
  v1::Finding finding;
  finding.set_diagnosis(diagnosis);
  finding.set_world_size(pair.other.world_size);
  finding.set_sentence(std::move(sentence));
  return finding;
}

std::string WhatWasRuledOut() {
  return absl::StrCat("the traces show none of: ",
                      absl::StrJoin(kCauses, ", ", [](std::string* out, const Cause& cause) {
                        absl::StrAppend(out, DiagnosisText(cause.diagnosis));
                      }));
}

}  // namespace

std::vector<v1::Finding> Diagnose(const Pair& pair) {
  std::vector<v1::Finding> findings;
  for (const Cause& cause : kCauses) {
    const Sentence sentence = cause.find(pair);
    if (sentence) findings.push_back(FindingOf(cause.diagnosis, *sentence, pair));
  }
  for (const Cause& cause : kFallbacks) {
    const Sentence sentence = findings.empty() ? cause.find(pair) : std::nullopt;
    if (sentence) findings.push_back(FindingOf(cause.diagnosis, *sentence, pair));
  }
  if (findings.empty()) {
    findings.push_back(FindingOf(v1::DIAGNOSIS_UNKNOWN, WhatWasRuledOut(), pair));
  }
  return findings;
}

std::optional<v1::Finding> DiagnoseDisagreement(const Pair& pair) {
  const Sentence sentence = RanksDisagree(pair);
  if (!sentence) return std::nullopt;
  const Run& ended = pair.other.ranks_disagree ? pair.other : pair.first;
  const bool began = !ended.ranks.empty();
  return FindingOf(began ? v1::DIAGNOSIS_RANKS_DRIFT : v1::DIAGNOSIS_INITIAL_WEIGHTS, *sentence,
                   {ended, ended, pair.difference});
}

v1::Finding DiagnoseRepetition(const Pair& pair) {
  return FindingOf(v1::DIAGNOSIS_NOT_REPEATABLE, NotRepeatable(pair), pair);
}

}  // namespace tandem::verify
