#include "worker/model/torchscript.h"

#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/runtime/graph_executor.h"
#include "torch/csrc/jit/serialization/import.h"
#include "worker/ddp/exception_text.h"
#include "worker/model/loss.h"

namespace tandem::model {
namespace {

// Everything that a module carries from one forward to the next.
std::vector<std::pair<std::string, c10::IValue>> StateOf(const torch::jit::Module& module) {
  std::vector<std::pair<std::string, c10::IValue>> state;
  for (const auto& item : module.named_attributes()) {
    if (!item.value.isModule()) state.emplace_back(item.name, item.value);
  }
  return state;
}

// A tensor has to be the same one, whose values we know of; of the rest, plain values are compared.
bool IsKept(const c10::IValue& before, const c10::IValue& after) {
  if (before.isTensor()) return before.is(after);
  const bool is_plain = before.isInt() || before.isDouble() || before.isBool() || before.isString();
  return !is_plain || before == after;
}

class TorchscriptNetwork final : public Network {
 public:
  explicit TorchscriptNetwork(torch::jit::Module module) : module_(std::move(module)) {
    MakeContiguous();
    SetTraining(true);
    std::set<at::TensorImpl*> seen;
    for (const auto& item : module_.named_parameters()) {
      if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
      (item.value.requires_grad() ? parameters_ : buffers_).push_back({item.name, item.value});
    }
    for (const auto& item : module_.named_buffers()) buffers_.push_back({item.name, item.value});
  }

  std::vector<ddp::NamedTensor> Parameters() const override { return parameters_; }
  std::vector<ddp::NamedTensor> Buffers() const override { return buffers_; }
  void SetTraining(bool training) override {
    module_.train(training);
    state_ = StateOf(module_);
  }
  void MoveTo(at::Device device) override { module_.to(device); }

  at::Tensor Forward(const at::Tensor& inputs) override {
    // The optimizing executor watches its first runs and then exchanges operators, with other
    // roundings: a result would depend on how often this process has run.
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);
    const at::Tensor outputs = module_.forward({inputs}).toTensor();
    CheckState();
    return outputs;
  }

 private:
  // What travels and is saved is the bytes of a tensor, in order.
  void MakeContiguous() {
    const at::NoGradGuard no_grad;
    for (at::Tensor tensor : module_.parameters()) tensor.set_data(tensor.contiguous());
    for (at::Tensor tensor : module_.buffers()) tensor.set_data(tensor.contiguous());
  }

  // State that we do not know of would go from one logical rank to the next, and be in no checkpoint.
  void CheckState() const {
    const auto now = StateOf(module_);
    for (size_t i = 0; i < state_.size(); ++i) {
      if (IsKept(state_[i].second, now[i].second)) continue;
      throw std::runtime_error(absl::StrCat("forward gives a new value to '", state_[i].first,
                                            "': what it remembers has to be a buffer that is "
                                            "changed in place"));
    }
  }

  torch::jit::Module module_;
  std::vector<std::pair<std::string, c10::IValue>> state_;  // before any forward
  std::vector<ddp::NamedTensor> parameters_, buffers_;
};

template <typename... Parts>
absl::Status Refusal(const v1::Torchscript& spec, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("model.torchscript.path: ", spec.path(), ": ", parts...));
}

// Inputs of two samples, all zeros.
at::Tensor TrialInputs(const data::SampleShape& shape) {
  std::vector<int64_t> sizes = shape.inputs;
  sizes.insert(sizes.begin(), 2);
  return at::zeros(sizes, shape.vocabulary > 0 ? at::kLong : at::kFloat);
}

// `module` is a copy: whatever running it changes is thrown away.
absl::Status TryOut(const v1::Torchscript& spec, const data::SampleShape& shape,
                    torch::jit::Module module) {
  const at::NoGradGuard no_grad;
  std::vector<int64_t> expected = OutputShape(shape);
  expected.insert(expected.begin(), 2);
  const at::Tensor outputs = TorchscriptNetwork(std::move(module)).Forward(TrialInputs(shape));
  if (outputs.sizes() == expected) return absl::OkStatus();
  return Refusal(spec, "puts out the shape [", absl::StrJoin(outputs.sizes(), ", "),
                 "] for two samples of this data, where the loss wants [",
                 absl::StrJoin(expected, ", "), "]");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> LoadTorchscript(const v1::Torchscript& spec,
                                                         const data::SampleShape& shape) {
  const char* what_failed = "cannot be loaded";
  try {
    torch::jit::Module module = torch::jit::load(spec.path(), at::kCPU);
    auto network = std::make_unique<TorchscriptNetwork>(module);
    if (network->Parameters().empty()) return Refusal(spec, "has no trainable parameter");
    what_failed = "cannot be run on this data";
    if (absl::Status status = TryOut(spec, shape, module.deepcopy()); !status.ok()) return status;
    return network;
  } catch (const std::exception& error) {
    return Refusal(spec, what_failed, ": ", ddp::OneLine(error));
  }
}

}  // namespace tandem::model
