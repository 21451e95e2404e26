#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"
#include "worker/model/network.h"

namespace tandem::model {

// For each of spec.channels(): a convolution that keeps the size of the picture, batch
// normalization, ReLU, and the largest of each pool x pool pixels; then dropout and one linear
// layer. A picture is {H, W} (one channel) or {C, H, W}. Parameters are named as by a Python module
// with
//
//   self.convs = nn.ModuleList([nn.Conv2d(..., padding=kernel // 2), ...])
//   self.norms = nn.ModuleList([nn.BatchNorm2d(...), ...])
//   self.head = nn.Linear(...)
//
// created in this order. Its segments end before each normalization.
//   InvalidArgument  the inputs are no pictures, or too small to be pooled so often.
absl::StatusOr<std::unique_ptr<Network>> CreateConvnet(const v1::Convnet& spec,
                                                       const data::SampleShape& shape);

}  // namespace tandem::model
