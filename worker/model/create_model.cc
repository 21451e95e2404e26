#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker/model/mlp.h"
#include "worker/model/model.h"
#include "worker/model/seed.h"

namespace tandem::model {

absl::StatusOr<std::shared_ptr<Model>> CreateModel(const v1::JobSpec& spec,
                                                   const data::SampleShape& shape) {
  SeedDefaultGenerator(spec.seed());
  try {
    return std::make_shared<Mlp>(spec.model().mlp(), shape.inputs.front(), shape.classes);
  } catch (const std::exception& error) {
    // The first line; LibTorch adds a stack.
    const std::string what = error.what();
    return absl::InvalidArgumentError(
        absl::StrCat("model: cannot be built: ", what.substr(0, what.find('\n'))));
  }
}

}  // namespace tandem::model
