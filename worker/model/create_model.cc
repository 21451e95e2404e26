#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/model/mlp.h"
#include "worker/model/model.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

absl::StatusOr<std::unique_ptr<Network>> CreateNetwork(const v1::Model& spec,
                                                       const data::SampleShape& shape) {
  if (spec.has_mlp()) return CreateMlp(spec.mlp(), shape);
  return absl::InvalidArgumentError("model: of a kind that this version of Tandem does not know");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> CreateModel(const v1::JobSpec& spec,
                                                   const data::SampleShape& shape) {
  const absl::StatusOr<v1::Loss> loss = LossOf(spec, shape);
  if (!loss.ok()) return loss.status();
  SeedDefaultGenerator(spec.seed());
  try {
    auto network = CreateNetwork(spec.model(), shape);
    if (!network.ok()) return network.status();
    return std::make_unique<Model>(*std::move(network), *loss);
  } catch (const std::exception& error) {
    // The first line; LibTorch adds a stack.
    const std::string what = error.what();
    return absl::InvalidArgumentError(
        absl::StrCat("model: cannot be built: ", what.substr(0, what.find('\n'))));
  }
}

}  // namespace tandem::model
