#include "worker/trainer/test_modules.h"

#include "ATen/Functions.h"
#include "torch/csrc/jit/api/module.h"

namespace tandem::trainer {
namespace {

torch::jit::Module ModuleWith(const std::string& forward) {
  torch::jit::Module module("Module");
  module.register_parameter("weight", at::linspace(-1, 1, 15).reshape({3, 5}).requires_grad_(),
                            false);
  module.register_parameter("spare", at::ones({4}).requires_grad_(), false);
  module.register_parameter("rare", at::ones({3}).requires_grad_(), false);
  module.define(forward);
  return module;
}

}  // namespace

void SaveModuleWithRareParameters(const std::string& path) {
  ModuleWith(R"(
    def forward(self, x):
        y = torch.matmul(x, self.weight.t())
        if bool(x[0, 0] > 5.0):
            y = y + self.rare
        return y
  )")
      .save(path);
}

void SaveCountingModule(const std::string& path) {
  torch::jit::Module module("Counting");
  module.register_parameter("weight", at::linspace(-1, 1, 15).reshape({3, 5}).requires_grad_(),
                            false);
  module.register_buffer("runs", at::zeros({}, at::kLong));
  module.define(R"(
    def forward(self, x):
        self.runs.add_(1)
        return torch.matmul(x, self.weight.t())
  )");
  module.save(path);
}

void SaveNondeterministicModule(const std::string& path) {
  ModuleWith(R"(
    def forward(self, x):
        y = torch.matmul(x, self.weight.t())
        places = torch.arange(3).reshape([1, 1, 1, 3]).expand([x.size(0), 1, 1, 3])
        y = torch.max_unpool2d(y.reshape([-1, 1, 1, 3]), places, [1, 3])
        return y.reshape([-1, 3])
  )")
      .save(path);
}

}  // namespace tandem::trainer
