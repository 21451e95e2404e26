// Every operator without a kernel of its own on the stand-in runs as on the CPU, with the same bits.
#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include <utility>
#include <vector>

#include "worker/device/testing/standin/standin_devices.h"

namespace tandem::device::standin {
namespace {

using c10::IValue;

// One call: what it was given, and the CPU's tensors in the same memory.
class CpuCall {
 public:
  CpuCall(const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : op_(op),
        stack_(*stack),
        given_(torch::jit::last(*stack, op.schema().arguments().size()).vec()) {
    for (const IValue& argument : given_) FindDevice(argument);
  }

  void Run() {
    AwaitComputeStream(device_);
    torch::jit::drop(stack_, given_.size());
    for (const IValue& argument : given_) taken_.push_back(ToCpu(argument));
    for (const IValue& argument : taken_) stack_.push_back(argument);
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
    TakeBackResized();
    ReturnResults();
  }

 private:
  void FindDevice(const IValue& argument) {
    if (argument.isTensor() && argument.toTensor().defined() &&
        argument.toTensor().is_privateuseone()) {
      device_ = argument.toTensor().device();
    } else if (argument.isTensorList()) {
      for (const at::Tensor& tensor : argument.toTensorVector()) FindDevice(tensor);
    } else if (argument.isDevice() && argument.toDevice().is_privateuseone()) {
      device_ = argument.toDevice();
    }
  }

  IValue ToCpu(const IValue& argument) const {
    if (argument.isTensor()) return ToCpu(argument.toTensor());
    if (argument.isDevice()) return IValue(at::Device(at::kCPU));
    if (argument.isTensorList()) {
      std::vector<at::Tensor> list;
      for (const at::Tensor& tensor : argument.toTensorVector()) list.push_back(ToCpu(tensor));
      return list;
    }
    if (!argument.isList() || !argument.isOptionalTensorList()) return argument;
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : argument.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(ToCpu(*tensor)) : std::nullopt);
    }
    return list;
  }

  at::Tensor ToCpu(const at::Tensor& tensor) const {
    if (!tensor.defined()) return tensor;
    if (tensor.is_privateuseone()) {
      if (tensor.numel() == 0)
        return at::empty_strided(tensor.sizes(), tensor.strides(),
                                 tensor.options().device(at::kCPU));
      return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                           tensor.options().device(at::kCPU));
    }
    TORCH_CHECK(tensor.dim() == 0, op_.schema().name(), ": a tensor is on ", tensor.device(),
                ", and another on ", device_);
    return tensor;
  }

  // Where the operator has given an argument another size, it is in memory of its own now.
  void TakeBackResized() const {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i].isTensor() || !given_[i].toTensor().defined()) continue;
      const at::Tensor& given = given_[i].toTensor();
      const at::Tensor& taken = taken_[i].toTensor();
      if (given.sizes() == taken.sizes()) continue;
      given.resize_(taken.sizes());
      given.copy_(taken);
    }
  }

  void ReturnResults() {
    const auto& returns = op_.schema().returns();
    std::vector<IValue> results = torch::jit::last(stack_, returns.size()).vec();
    torch::jit::drop(stack_, returns.size());
    for (size_t i = 0; i < returns.size(); ++i) {
      const c10::AliasInfo* alias = returns[i].alias_info();
      stack_.push_back(alias == nullptr ? ToDevice(results[i]) : ArgumentNamed(*alias));
    }
  }

  // What a result is, if it is one of the arguments, written to.
  const IValue& ArgumentNamed(const c10::AliasInfo& alias) const {
    const auto& arguments = op_.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* own = arguments[i].alias_info();
      if (own != nullptr && own->isWrite() && *own == alias) return given_[i];
    }
    TORCH_CHECK(false, op_.schema().name(), ": the stand-in has no such view");
  }

  IValue ToDevice(const IValue& result) const {
    if (result.isTensor() && result.toTensor().defined()) return result.toTensor().to(device_);
    if (!result.isTensorList()) return result;
    std::vector<at::Tensor> list;
    for (const at::Tensor& tensor : result.toTensorVector()) list.push_back(tensor.to(device_));
    return list;
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack& stack_;
  const std::vector<IValue> given_;
  std::vector<IValue> taken_;
  at::Device device_ = at::kCPU;
};

void RunOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { CpuCall(op, stack).Run(); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, kernels) {
  kernels.fallback(torch::CppFunction::makeFromBoxedFunction<&RunOnCpu>());
}

// Those that devices without a kernel compute from others, in another order than the CPU.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, kernels) {
  kernels.impl("native_layer_norm", torch::CppFunction::makeFromBoxedFunction<&RunOnCpu>());
  kernels.impl("native_group_norm", torch::CppFunction::makeFromBoxedFunction<&RunOnCpu>());
}

}  // namespace
}  // namespace tandem::device::standin
