#include "worker/device/cuda/determinism.h"

#include <ATen/Context.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "torch/version.h"

namespace tandem::device {
namespace {

constexpr char kBits[] = "equal bits";
constexpr char kDeadlines[] = "the deadlines of exchanges";

struct Variable {
  const char* name;
  const char* value;
  const char* needed_for;  // null: Tandem's manners only
};

constexpr Variable kVariables[] = {
    // cuBLAS takes turns with its workspaces otherwise, and sums in another order.
    {"CUBLAS_WORKSPACE_CONFIG", ":4096:8", kBits},
    // No library of NVIDIA uses TensorFloat-32, whatever it was asked for.
    {"NVIDIA_TF32_OVERRIDE", "0", kBits},
    // Would choose kernels by measuring them.
    {"PYTORCH_TUNABLEOP_ENABLED", "0", kBits},
    // The switch of NVLink adds in an order of its own; only `reduction: allreduce` lets NCCL add.
    {"NCCL_NVLS_ENABLE", "0", kBits},
    // A thread that listens on one port for all jobs of a host.
    {"NCCL_RAS_ENABLE", "0", nullptr},
    // Would override what Tandem asks of each communicator: calls that return at once.
    {"NCCL_COMM_BLOCKING", "0", kDeadlines},
};

bool UsesTf32(const at::Context& context, at::Float32Op op) {
  return context.float32Precision(at::Float32Backend::CUDA, op) == at::Float32Precision::TF32;
}

std::string Assignment(const Variable& variable) {
  return absl::StrCat(variable.name, "=", variable.value);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> DeterministicEnvironment() {
  std::vector<std::pair<std::string, std::string>> environment;
  for (const Variable& variable : kVariables)
    environment.emplace_back(variable.name, variable.value);
  return environment;
}

absl::Status CheckEnvironment() {
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (variable.needed_for == nullptr ||
        (value != nullptr && value == absl::string_view(variable.value))) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        variable.name, value == nullptr ? " is not set" : absl::StrCat(" is '", value, "'"),
        " in this process: ", variable.needed_for, " need ", Assignment(variable),
        " from its start"));
  }
  return absl::OkStatus();
}

const std::vector<Switch>& Switches() {
  static const std::vector<Switch> switches = {
      {"deterministic algorithms",
       [](at::Context& c) { c.setDeterministicAlgorithms(true, /*warn_only=*/false); },
       [](const at::Context& c) {
         return c.deterministicAlgorithms() && !c.deterministicAlgorithmsWarnOnly();
       }},
      {"cuDNN deterministic", [](at::Context& c) { c.setDeterministicCuDNN(true); },
       [](const at::Context& c) { return c.deterministicCuDNN(); }},
      // A benchmark would choose kernels by measuring them.
      {"cuDNN without benchmark", [](at::Context& c) { c.setBenchmarkCuDNN(false); },
       [](const at::Context& c) { return !c.benchmarkCuDNN(); }},
      {"matrix products without TF32", [](at::Context& c) { c.setAllowTF32CuBLAS(false); },
       [](const at::Context& c) {
         return !c.allowTF32CuBLAS() && !UsesTf32(c, at::Float32Op::MATMUL);
       }},
      {"cuDNN without TF32", [](at::Context& c) { c.setAllowTF32CuDNN(false); },
       [](const at::Context& c) {
         return !c.allowTF32CuDNN() && !UsesTf32(c, at::Float32Op::CONV) &&
                !UsesTf32(c, at::Float32Op::RNN);
       }},
      {"fp16 products summed in float32",
       [](at::Context& c) {
         c.setAllowFP16ReductionCuBLAS(false);
         c.setAllowFP16AccumulationCuBLAS(false);
       },
       [](const at::Context& c) {
         return c.allowFP16ReductionCuBLAS() !=
                    at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK &&
                !c.allowFP16AccumulationCuBLAS();
       }},
      {"bf16 products summed in float32",
       [](at::Context& c) { c.setAllowBF16ReductionCuBLAS(false); },
       [](const at::Context& c) {
         return c.allowBF16ReductionCuBLAS() !=
                at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
       }},
      // Matrix products and a softmax, which the switches above are for. Of the fused kernels some
      // add with atomics in the backward pass, and which one is taken depends on shapes, types and
      // the generation of the device.
      {"attention as matrix products",
       [](at::Context& c) {
         c.setSDPUseMath(true);
         c.setSDPUseFlash(false);
         c.setSDPUseFA3(false);
         c.setSDPUseMemEfficient(false);
         c.setSDPUseCuDNN(false);
         c.setAllowFP16BF16ReductionMathSDP(false);
       },
       [](const at::Context& c) {
         return c.userEnabledMathSDP() && !c.userEnabledFlashSDP() && !c.userEnabledFA3SDP() &&
                !c.userEnabledMemEfficientSDP() && !c.userEnabledCuDNNSDP() &&
                !c.allowFP16BF16ReductionMathSDP();
       }},
  };
  return switches;
}

absl::Status SetSwitches(const std::vector<Switch>& switches) {
  at::Context& context = at::globalContext();
  for (const Switch& one : switches) {
    one.set(context);
    if (one.is_set(context)) continue;
    return absl::FailedPreconditionError(absl::StrCat("LibTorch ", TORCH_VERSION,
                                                      " does not take the switch '", one.name,
                                                      "', which equal bits need"));
  }
  return absl::OkStatus();
}

std::string DescribeDeterminism() {
  std::vector<std::string> said;
  for (const Switch& one : Switches()) said.emplace_back(one.name);
  for (const Variable& variable : kVariables) {
    if (variable.needed_for == kBits) said.push_back(Assignment(variable));
  }
  return absl::StrJoin(said, ", ");
}

}  // namespace tandem::device
