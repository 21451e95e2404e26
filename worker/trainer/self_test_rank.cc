#include "worker/trainer/self_test_rank.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/torch_status.h"
#include "worker/trainer/self_test_values.h"

namespace tandem::trainer {
namespace {

using Parameters = std::vector<ddp::NamedTensor>;

// One way through the reducer.
struct Way {
  const char* name;
  size_t gather_bytes;
};
constexpr Way kWays[] = {{"gathered", size_t{1} << 30}, {"in shards", 0}};

at::Tensor ToDevice(const std::vector<float>& values, const at::Device& device) {
  const at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())});
  std::memcpy(tensor.mutable_data_ptr(), values.data(), values.size() * sizeof(float));
  return tensor.to(device);
}

PlainGradient FromDevice(const at::Tensor& gradient) {
  if (!gradient.defined()) return std::nullopt;
  const at::Tensor here = gradient.to(at::kCPU).contiguous();
  std::vector<float> values(static_cast<size_t>(here.numel()));
  std::memcpy(values.data(), here.const_data_ptr(), values.size() * sizeof(float));
  return values;
}

Parameters MakeParameters(const at::Device& device) {
  Parameters parameters;
  for (const size_t size : SelfTestSizes()) {
    const at::Tensor zeros = at::zeros({static_cast<int64_t>(size)}, device);
    parameters.push_back({absl::StrCat("p", parameters.size()), zeros.requires_grad_()});
  }
  return parameters;
}

// A loss whose gradient is what the leaf has. False: it has none.
bool Backward(const Parameters& parameters, const std::vector<PlainGradient>& leaf,
              const at::Device& device) {
  at::Tensor loss;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!leaf[i]) continue;
    const at::Tensor part = (parameters[i].tensor * ToDevice(*leaf[i], device)).sum();
    loss = loss.defined() ? loss + part : part;
  }
  if (loss.defined()) loss.backward();
  return loss.defined();
}

absl::StatusOr<std::vector<PlainGradient>> Reduce(const HardGradients& gradients,
                                                  const Parameters& parameters,
                                                  const at::Device& device,
                                                  ddp::GradientReducer& reducer) {
  reducer.BeginStep(0);
  for (uint32_t l = reducer.range().begin; l < reducer.range().end; ++l) {
    const auto& leaf = gradients.leaves[l];
    const bool is_empty = std::none_of(leaf.begin(), leaf.end(),
                                       [](const auto& gradient) { return gradient.has_value(); });
    if (is_empty) {
      reducer.SkipLogicalRank(LogicalRank(l));
      continue;
    }
    reducer.BeginLogicalRank(LogicalRank(l));
    Backward(parameters, leaf, device);
    reducer.EndLogicalRank(LogicalRank(l));
  }
  if (absl::Status status = reducer.Finish(gradients.count); !status.ok()) return status;
  std::vector<PlainGradient> sums;
  for (const ddp::NamedTensor& parameter : parameters)
    sums.push_back(FromDevice(parameter.tensor.grad()));
  return sums;
}

class SelfTestRank {
 public:
  SelfTestRank(ddp::Transport& transport, device::Device* device, ddp::Reduction reduction)
      : transport_(transport),
        device_(device),
        torch_device_(device == nullptr ? at::Device(at::kCPU) : at::Device(device->torch_name())),
        reduction_(reduction) {}

  absl::StatusOr<v1::SelfTestReport> Run() {
    for (const uint32_t logical_ranks : {2u, 8u}) {
      const std::vector<HardGradients> all = MakeHardGradients(logical_ranks);
      for (size_t i = 0; i < all.size(); ++i) {
        for (const Way& way : kWays) {
          if (absl::Status status = RunCase(all[i], way, CaseOf(i, all[i])); !status.ok())
            return status;
        }
      }
    }
    return report_;
  }

 private:
  v1::SelfTestCase* CaseOf(size_t index, const HardGradients& gradients) {
    if (report_.cases_size() <= static_cast<int>(index))
      report_.add_cases()->set_name(gradients.name);
    return report_.mutable_cases(static_cast<int>(index));
  }

  absl::Status RunCase(const HardGradients& gradients, const Way& way, v1::SelfTestCase* result) {
    const Parameters parameters = MakeParameters(torch_device_);
    const auto logical_ranks = static_cast<uint32_t>(gradients.leaves.size());
    auto reducer = ddp::GradientReducer::Create(transport_, parameters,
                                                {.logical_ranks = logical_ranks,
                                                 .bucket_bytes = kSelfTestBucketBytes,
                                                 .gather_bytes = way.gather_bytes,
                                                 .reduction = reduction_,
                                                 .device = device_});
    if (!reducer.ok()) return reducer.status();
    const auto found = Reduce(gradients, parameters, torch_device_, **reducer);
    if (!found.ok()) return found.status();
    const BitComparison comparison = CompareBits(*found, SumByDefinition(gradients));
    result->set_values(result->values() + comparison.values);
    result->set_different(result->different() + comparison.different);
    if (comparison.different == 0 || !result->first_difference().empty()) return absl::OkStatus();
    result->set_first_difference(absl::StrCat(logical_ranks, " logical ranks, ", way.name,
                                              ", rank ", transport_.rank().value(), ": ",
                                              comparison.first));
    return absl::OkStatus();
  }

  ddp::Transport& transport_;
  device::Device* const device_;  // null: the CPU
  const at::Device torch_device_;
  const ddp::Reduction reduction_;
  v1::SelfTestReport report_;
};

}  // namespace

absl::StatusOr<v1::SelfTestReport> RunSelfTestRank(ddp::Transport& transport,
                                                   device::Device* device,
                                                   ddp::Reduction reduction) {
  // Both ranks share the host with whatever else runs there.
  at::set_num_threads(1);
  try {
    return SelfTestRank(transport, device, reduction).Run();
  } catch (const std::exception& error) {
    return ddp::StatusFromException(error, "LibTorch");
  }
}

}  // namespace tandem::trainer
