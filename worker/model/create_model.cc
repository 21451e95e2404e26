#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/ddp/exception_text.h"
#include "worker/model/convnet.h"
#include "worker/model/gpt.h"
#include "worker/model/mlp.h"
#include "worker/model/model.h"
#include "worker/model/seed.h"
#include "worker/model/torchscript.h"

namespace tandem::model {
namespace {

absl::StatusOr<std::unique_ptr<Network>> CreateNetwork(const v1::Model& spec,
                                                       const data::SampleShape& shape) {
  switch (spec.kind_case()) {
    case v1::Model::kMlp:
      return CreateMlp(spec.mlp(), shape);
    case v1::Model::kConvnet:
      return CreateConvnet(spec.convnet(), shape);
    case v1::Model::kGpt:
      return CreateGpt(spec.gpt(), shape);
    case v1::Model::kTorchscript:
      return LoadTorchscript(spec.torchscript(), shape);
    case v1::Model::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("model: required");
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
    return std::make_unique<Model>(*std::move(network), *loss, spec.precision());
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: cannot be built: ", ddp::OneLine(error)));
  }
}

}  // namespace tandem::model
