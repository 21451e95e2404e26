#pragma once

#include <optional>
#include <vector>

#include "client/verify/evidence.h"
#include "tandem/v1/verify.pb.h"

// Where two trainings part. Bits are compared, so two NaNs of the same bits are equal. Pure
// functions.
namespace tandem::verify {

// |a - b| / max(|a|, |b|): 0 for equal bits, infinite where one of them is not finite.
double RelativeDifference(double a, double b);

// Of two histories, over the steps that both have; nothing where these are equal and both end with
// the same step. `step` and `aspect` are set, and the losses of that step.
std::optional<v1::Difference> FirstDifference(const std::vector<v1::StepSample>& first,
                                              const std::vector<v1::StepSample>& other);

// The first evaluation after a step at which both measured.
std::optional<v1::Difference> FirstDifference(const std::vector<v1::Evaluation>& first,
                                              const std::vector<v1::Evaluation>& other);

// Whichever comes first. An evaluation comes after its step.
std::optional<v1::Difference> Earlier(std::optional<v1::Difference> of_steps,
                                      std::optional<v1::Difference> of_evaluations);

// Of two runs: the same with what their ranks wrote down, and with the first tensor of any rank of
// `other` that rank 0 of `first` has with other bits, or that one of the two does not have.
std::optional<v1::Difference> FirstDifference(const Run& first, const Run& other);

// The first element of the tensor described by `tensor` of which the bytes `first` and `other`, as
// they stand in traces, differ, and how many do: 0 where none does. Nothing where the bytes are not
// those of such a tensor, or there are none.
std::optional<v1::DifferingValue> FirstDifferingValue(const v1::TensorDigest& tensor,
                                                      const std::string& first,
                                                      const std::string& other);

// The same for two runs that were told to write down the tensor of `difference` after its step:
// rank 0 of `first` beside the first rank of `other` that has other values, or that has any.
std::optional<v1::DifferingValue> FirstDifferingValue(const v1::Difference& difference,
                                                      const Run& first, const Run& other);

}  // namespace tandem::verify
