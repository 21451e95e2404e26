#include "client/verify/compare.h"

#include <google/protobuf/util/message_differencer.h>

#include <map>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/verify/difference.h"

namespace tandem::verify {
namespace {

std::vector<std::string> DifferingKeys(const v1::JobSpec& first, const v1::JobSpec& other) {
  std::string report;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(first, other);
  report = absl::StrReplaceAll(report, {{"modified: ", ""},
                                        {"added: ", "only of the second: "},
                                        {"deleted: ", "only of the first: "}});
  return absl::StrSplit(report, '\n', absl::SkipEmpty());
}

// Steps that both have, in order.
using Steps = std::vector<std::pair<const v1::StepSample*, const v1::StepSample*>>;

Steps CommonSteps(const RecordedJob& first, const RecordedJob& other) {
  std::map<uint64_t, const v1::StepSample*> by_step;
  for (const v1::StepSample& sample : other.samples) by_step[sample.step()] = &sample;
  Steps common;
  for (const v1::StepSample& sample : first.samples) {
    const auto found = by_step.find(sample.step());
    if (found != by_step.end()) common.emplace_back(&sample, found->second);
  }
  return common;
}

// Receipts roll over the parameter digests of every so many steps, so only those of jobs that take
// them at the same steps can be compared. What a job's end adds is not in them.
bool ReceiptsDiffer(const RecordedJob& first, const RecordedJob& other, const Steps& common) {
  if (common.empty() || first.job.spec().verify_every() != other.job.spec().verify_every()) {
    return false;
  }
  return common.front().first->receipt() != common.front().second->receipt();
}

bool HoldOutTheSame(const v1::JobSpec& first, const v1::JobSpec& other) {
  using google::protobuf::util::MessageDifferencer;
  return first.evaluate().holdout() == other.evaluate().holdout() &&
         MessageDifferencer::Equals(first.evaluate().data(), other.evaluate().data());
}

std::optional<v1::Difference> FindInHistory(const RecordedJob& first, const RecordedJob& other) {
  auto difference = FirstDifference(first.samples, other.samples);
  if (!HoldOutTheSame(first.job.spec(), other.job.spec())) return difference;
  return Earlier(std::move(difference), FirstDifference(first.evaluations, other.evaluations));
}

std::optional<v1::Difference> FindDifference(const RecordedJob& first, const RecordedJob& other,
                                             const Steps& common) {
  auto difference = FindInHistory(first, other);
  const bool known = difference && difference->aspect() != v1::ASPECT_LENGTH;
  if (!known && ReceiptsDiffer(first, other, common)) {
    difference.emplace();
    difference->set_step(common.front().first->step());
    difference->set_aspect(v1::ASPECT_EARLIER);
  }
  if (!difference) return std::nullopt;
  difference->set_first_world_size(first.job.world_size());
  difference->set_other_world_size(other.job.world_size());
  return difference;
}

}  // namespace

v1::Comparison Compare(const RecordedJob& first, const RecordedJob& other) {
  const Steps common = CommonSteps(first, other);
  v1::Comparison comparison;
  comparison.set_first_job(first.job.id());
  comparison.set_other_job(other.job.id());
  comparison.set_common_steps(common.size());
  comparison.set_verdict(v1::VERDICT_BIT_EQUAL);
  if (const auto difference = FindDifference(first, other, common)) {
    *comparison.mutable_difference() = *difference;
    comparison.set_verdict(v1::VERDICT_DIFFERENT);
  }
  for (std::string& key : DifferingKeys(first.job.spec(), other.job.spec())) {
    comparison.add_differing_keys(std::move(key));
  }
  if (first.job.has_receipt()) *comparison.mutable_first_receipt() = first.job.receipt();
  if (other.job.has_receipt()) *comparison.mutable_other_receipt() = other.job.receipt();
  return comparison;
}

}  // namespace tandem::verify
