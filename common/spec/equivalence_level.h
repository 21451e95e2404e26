#pragma once

#include <string>

#include "tandem/v1/job.pb.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

struct Equivalence {
  v1::EquivalenceLevel level;
  // Why it is not BITWISE: the key that says so. Empty where it is.
  std::string reason;
};

// How much of the promise a job keeps, by its specification alone: nothing where a key of `unsafe`
// is not at its default, else the same batches where gradients are added in the order of a library,
// else the same bits. Defaults may be filled in or not.
Equivalence EquivalenceOf(const v1::JobSpec& spec);

}  // namespace tandem::spec
