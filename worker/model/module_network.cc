#include "worker/model/module_network.h"

namespace tandem::model {
namespace {

std::vector<ddp::NamedTensor> ListOf(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  std::vector<ddp::NamedTensor> list;
  for (const auto& item : tensors) list.push_back({item.key(), item.value()});
  return list;
}

}  // namespace

std::vector<ddp::NamedTensor> ModuleNetwork::Parameters() const {
  return ListOf(named_parameters());
}

std::vector<ddp::NamedTensor> ModuleNetwork::Buffers() const { return ListOf(named_buffers()); }

}  // namespace tandem::model
