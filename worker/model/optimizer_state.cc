#include "worker/model/optimizer_state.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "torch/optim/adam.h"
#include "torch/optim/adamw.h"
#include "torch/optim/sgd.h"

namespace tandem::model {
namespace {

using ParamState = torch::optim::OptimizerParamState;
using Tensors = std::vector<at::Tensor>;

// The state of one parameter as tensors, and back.
struct Codec {
  std::vector<std::string> fields;
  Tensors (*read)(const ParamState& state);
  std::unique_ptr<ParamState> (*make)(const Tensors& tensors, at::Device device);
};

at::Tensor CopyOn(at::Device device, const at::Tensor& tensor) {
  return tensor.to(device, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

// AdamParamState and AdamWParamState have the same members, and no base in common.
template <typename State>
Codec MomentsCodec() {
  return {
      .fields = {"step", "exp_avg", "exp_avg_sq"},
      .read = [](const ParamState& any) -> Tensors {
        const auto& state = static_cast<const State&>(any);
        return {at::scalar_tensor(state.step(), at::kLong), state.exp_avg(), state.exp_avg_sq()};
      },
      .make = [](const Tensors& tensors, at::Device device) -> std::unique_ptr<ParamState> {
        auto state = std::make_unique<State>();
        state->step(tensors[0].item<int64_t>());
        state->exp_avg(CopyOn(device, tensors[1]));
        state->exp_avg_sq(CopyOn(device, tensors[2]));
        return state;
      }};
}

Codec MomentumCodec() {
  return {.fields = {"momentum_buffer"},
          .read = [](const ParamState& any) -> Tensors {
            return {static_cast<const torch::optim::SGDParamState&>(any).momentum_buffer()};
          },
          .make = [](const Tensors& tensors, at::Device device) -> std::unique_ptr<ParamState> {
            auto state = std::make_unique<torch::optim::SGDParamState>();
            state->momentum_buffer(CopyOn(device, tensors[0]));
            return state;
          }};
}

Codec CodecOf(const torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return MomentumCodec();
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer)) {
    return MomentsCodec<torch::optim::AdamParamState>();
  }
  return MomentsCodec<torch::optim::AdamWParamState>();
}

std::string NameOf(const ddp::NamedTensor& parameter, const std::string& field) {
  return absl::StrCat("optimizer.", parameter.name, ".", field);
}

bool Fits(const at::Tensor& tensor, const std::string& field, const at::Tensor& parameter) {
  if (field == "step") return tensor.dim() == 0 && tensor.scalar_type() == at::kLong;
  return tensor.sizes() == parameter.sizes() && tensor.scalar_type() == parameter.scalar_type();
}

// Takes the fields of one parameter out of `state`: all of them, or none where it has none.
absl::StatusOr<Tensors> TakeFields(const Codec& codec, const ddp::NamedTensor& parameter,
                                   std::map<std::string, at::Tensor>& state) {
  Tensors taken;
  std::string missing;
  for (const std::string& field : codec.fields) {
    const std::string name = NameOf(parameter, field);
    auto node = state.extract(name);
    if (node.empty()) {
      missing = name;
      continue;
    }
    if (!Fits(node.mapped(), field, parameter.tensor)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": has another shape or type here"));
    }
    taken.push_back(node.mapped());
  }
  if (taken.empty() || missing.empty()) return taken;
  return absl::InvalidArgumentError(absl::StrCat(missing, ": missing"));
}

}  // namespace

std::vector<ddp::NamedTensor> OptimizerState(const torch::optim::Optimizer& optimizer,
                                             const std::vector<ddp::NamedTensor>& parameters) {
  const Codec codec = CodecOf(optimizer);
  std::vector<ddp::NamedTensor> state;
  for (const ddp::NamedTensor& parameter : parameters) {
    const auto found = optimizer.state().find(parameter.tensor.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    const Tensors tensors = codec.read(*found->second);
    for (size_t i = 0; i < tensors.size(); ++i) {
      state.push_back({NameOf(parameter, codec.fields[i]), tensors[i]});
    }
  }
  return state;
}

absl::Status LoadOptimizerState(const std::vector<ddp::NamedTensor>& state,
                                const std::vector<ddp::NamedTensor>& parameters,
                                torch::optim::Optimizer& optimizer) {
  const Codec codec = CodecOf(optimizer);
  std::map<std::string, at::Tensor> left;
  for (const ddp::NamedTensor& tensor : state) left.emplace(tensor.name, tensor.tensor);
  std::map<void*, std::unique_ptr<ParamState>> loaded;
  for (const ddp::NamedTensor& parameter : parameters) {
    const absl::StatusOr<Tensors> tensors = TakeFields(codec, parameter, left);
    if (!tensors.ok()) return tensors.status();
    if (tensors->empty()) continue;
    loaded[parameter.tensor.unsafeGetTensorImpl()] =
        codec.make(*tensors, parameter.tensor.device());
  }
  if (!left.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(left.begin()->first, ": this optimizer has no such state"));
  }
  optimizer.state().clear();
  for (auto& [parameter, its_state] : loaded) optimizer.state()[parameter] = std::move(its_state);
  return absl::OkStatus();
}

}  // namespace tandem::model
