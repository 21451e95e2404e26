// How LibTorch computes on the stand-in: with the kernels of the CPU, on the same memory. What is not
// on the device is refused, as a real one would refuse it.
#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/device/testing/standin/standin_devices.h"

namespace tandem::device::standin {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

bool IsHere(const at::Tensor& tensor) { return tensor.defined() && tensor.is_privateuseone(); }

// The same memory, as a tensor of the CPU.
at::Tensor AsCpu(const at::Tensor& tensor) {
  if (!IsHere(tensor)) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}

at::Tensor Empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(size, c10::GetAllocator(c10::kPrivateUse1), kKeys,
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor EmptyStrided(at::IntArrayRef size, at::IntArrayRef stride,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                        std::optional<at::Device> device, std::optional<bool> pin_memory) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::kPrivateUse1),
                                           kKeys, c10::dtype_or_default(dtype));
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  AwaitComputeStream(IsHere(to) ? to.device() : from.device());
  AsCpu(to).copy_(AsCpu(from));
  return to;
}

at::Tensor CopyFromAndResize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return CopyFrom(from, to, false);
}

at::Scalar LocalScalar(const at::Tensor& tensor) {
  AwaitComputeStream(tensor.device());
  return at::native::_local_scalar_dense_cpu(AsCpu(tensor));
}

const at::Tensor& Resize(const at::Tensor& tensor, at::IntArrayRef size,
                         std::optional<at::MemoryFormat> format) {
  return at::native::resize_(tensor, size, format);
}

at::Tensor& SetStorage(at::Tensor& tensor, at::Storage source, int64_t offset, at::IntArrayRef size,
                       at::IntArrayRef stride) {
  return at::native::set_storage_cpu_(tensor, std::move(source), offset, size, stride);
}

// Parameters keep being the same tensors when they move here.
bool CanTakeEachOthersMemory(const at::Tensor& tensor, const at::Tensor& from) { return true; }

// A convolution asks its device which kind of it there is; here it is what the CPU would take.
at::Tensor Convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  AwaitComputeStream(input.device());
  const std::optional<at::Tensor> cpu_bias = bias ? std::optional(AsCpu(*bias)) : std::nullopt;
  return at::convolution(AsCpu(input), AsCpu(weight), cpu_bias, stride, padding, dilation,
                         transposed, output_padding, groups)
      .to(input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ConvolutionBackward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> wanted) {
  AwaitComputeStream(input.device());
  const std::vector<int64_t> bias = {gradient.size(1)};
  const auto results =
      at::convolution_backward(AsCpu(gradient), AsCpu(input), AsCpu(weight), bias, stride, padding,
                               dilation, transposed, output_padding, groups, wanted);
  const auto here = [&input](const at::Tensor& result) {
    return result.defined() ? result.to(input.device()) : result;
  };
  return {here(std::get<0>(results)), here(std::get<1>(results)), here(std::get<2>(results))};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, kernels) {
  kernels.impl("empty.memory_format", TORCH_FN(Empty));
  kernels.impl("empty_strided", TORCH_FN(EmptyStrided));
  kernels.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  kernels.impl("view", TORCH_FN(at::native::view));
  kernels.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  kernels.impl("resize_", TORCH_FN(Resize));
  kernels.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  kernels.impl("set_.source_Storage_storage_offset", TORCH_FN(SetStorage));
  kernels.impl("_copy_from", TORCH_FN(CopyFrom));
  kernels.impl("_copy_from_and_resize", TORCH_FN(CopyFromAndResize));
  kernels.impl("_local_scalar_dense", TORCH_FN(LocalScalar));
  kernels.impl("_has_compatible_shallow_copy_type", TORCH_FN(CanTakeEachOthersMemory));
  kernels.impl("convolution_overrideable", TORCH_FN(Convolution));
  kernels.impl("convolution_backward_overrideable", TORCH_FN(ConvolutionBackward));
}

}  // namespace
}  // namespace tandem::device::standin
