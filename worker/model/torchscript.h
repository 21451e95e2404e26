#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"
#include "worker/model/network.h"

namespace tandem::model {

// A network that Python has saved with torch.jit: its own weights, names and forward. Parameters
// that do not require a gradient are buffers. What a forward remembers has to be a
// buffer that it changes in place: a module that gives a new tensor or number to an attribute is refused,
// or throws where only a later forward does so. (Lists and the like are not looked into.)
//   InvalidArgument  the file cannot be read, has no trainable parameter, does not run on inputs of
//                    this shape, or puts out another shape than OutputShape.
absl::StatusOr<std::unique_ptr<Network>> LoadTorchscript(const v1::Torchscript& spec,
                                                         const data::SampleShape& shape);

}  // namespace tandem::model
