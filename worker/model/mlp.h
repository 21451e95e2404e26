#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"
#include "worker/model/network.h"

namespace tandem::model {

// Linear layers with an activation and dropout between them; an input of several dimensions is
// flattened. Parameters are named as by a Python module with
//
//   self.layers = nn.ModuleList([nn.Linear(...), ...])
//
// and GELU is the exact one, x Phi(x).
//   InvalidArgument  the inputs are tokens.
absl::StatusOr<std::unique_ptr<Network>> CreateMlp(const v1::Mlp& spec,
                                                   const data::SampleShape& shape);

}  // namespace tandem::model
