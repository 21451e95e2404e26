#include "worker/model/torchscript.h"

#include <fstream>
#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/serialization/import.h"
#include "worker/model/model.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const data::SampleShape kRow = {.inputs = {4}, .targets = {}, .classes = 3};

// A linear layer, a second weight that only inputs of positive sum use, and one that none does.
torch::jit::Module Branching() {
  torch::jit::Module module("Branching");
  const at::Tensor weight = at::arange(12, at::kFloat).reshape({4, 3}) / 10;
  module.register_parameter("weight", weight.clone().requires_grad_(), false);
  module.register_parameter("sometimes", at::ones({3}).requires_grad_(), false);
  module.register_parameter("never", at::ones({2}).requires_grad_(), false);
  module.register_parameter("frozen", at::ones({3}), false);
  module.register_buffer("runs", at::zeros({}, at::kLong));
  module.define(R"(
def forward(self, x):
    self.runs.add_(1)
    y = torch.add(torch.matmul(x, self.weight), self.frozen)
    if bool(torch.gt(torch.sum(x), 0.0)):
        y = torch.add(y, self.sometimes)
    return y
)");
  return module;
}

// Much that an optimizing executor would do in another way.
torch::jit::Module Deep() {
  torch::jit::Module module("Deep");
  module.register_attribute("training", c10::BoolType::get(), true);
  SeedDefaultGenerator(1);
  module.register_parameter("first", at::randn({4, 64}).requires_grad_(), false);
  module.register_parameter("last", at::randn({64, 3}).requires_grad_(), false);
  module.define(R"(
def forward(self, x):
    y = torch.gelu(torch.matmul(x, self.first))
    y = torch.dropout(torch.sigmoid(y) * y + torch.tanh(y), 0.5, self.training)
    return torch.matmul(torch.layer_norm(y, [64]), self.last)
)");
  return module;
}

class Torchscript : public testing::Test {
 protected:
  std::string Save(const torch::jit::Module& module) {
    const std::string path = folder_.File("model.pt");
    module.save(path);
    return path;
  }

  absl::StatusOr<std::unique_ptr<Model>> Load(const std::string& path,
                                              const data::SampleShape& shape = kRow) {
    v1::JobSpec spec;
    spec.mutable_model()->mutable_torchscript()->set_path(path);
    return CreateModel(spec, shape);
  }

  void ExpectRefusal(const std::string& path, const std::string& part) {
    const absl::Status status = Load(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    const std::string message(status.message());
    EXPECT_THAT(message, testing::StartsWith("model.torchscript.path: "));
    EXPECT_THAT(message, HasSubstr(path));
    EXPECT_THAT(message, HasSubstr(part));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("torchscript");
};

std::vector<std::string> NamesOf(const std::vector<ddp::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const ddp::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

data::Batch Rows(double value) { return {at::full({2, 4}, value), at::ones({2}, at::kLong)}; }

TEST_F(Torchscript, FrozenParameters_AreBuffers) {
  const auto model = *Load(Save(Branching()));
  EXPECT_THAT(NamesOf(model->Parameters()), ElementsAre("weight", "sometimes", "never"));
  EXPECT_THAT(NamesOf(model->Buffers()), ElementsAre("frozen", "runs"));
}

TEST_F(Torchscript, Trial_LeavesNoTraceInTheBuffers) {
  const auto model = *Load(Save(Branching()));
  EXPECT_EQ(model->Buffers()[1].tensor.item<int64_t>(), 0);
  model->Forward(Rows(1));
  EXPECT_EQ(model->Buffers()[1].tensor.item<int64_t>(), 1);
}

TEST_F(Torchscript, UnusedParameter_HasNoGradient) {
  const auto model = *Load(Save(Branching()));
  const auto has_gradients = [&](double value) {
    std::vector<bool> defined;
    for (const ddp::NamedTensor& parameter : model->Parameters()) {
      parameter.tensor.mutable_grad() = at::Tensor();
    }
    model->Forward(Rows(value)).loss_sum.backward();
    for (const ddp::NamedTensor& parameter : model->Parameters()) {
      defined.push_back(parameter.tensor.grad().defined());
    }
    return defined;
  };
  EXPECT_THAT(has_gradients(1), ElementsAre(true, true, false));
  EXPECT_THAT(has_gradients(-1), ElementsAre(true, false, false));
}

// The loss and the gradients of the `run`-th forward with the same seed.
template <typename Forward>
std::vector<at::Tensor> LastOf(int runs, const std::vector<at::Tensor>& parameters,
                               const Forward& forward) {
  std::vector<at::Tensor> results;
  for (int run = 0; run < runs; ++run) {
    for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
    SeedDefaultGenerator(7);
    const at::Tensor loss = forward(at::linspace(-1, 1, 8 * 4).reshape({8, 4}));
    loss.backward();
    results = {loss.detach().clone()};
    for (const at::Tensor& parameter : parameters) results.push_back(parameter.grad().clone());
  }
  return results;
}

bool SameBits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

TEST_F(Torchscript, Result_DoesNotDependOnHowOftenItHasRun) {
  const std::string path = Save(Deep());
  const auto nth_run = [&](int runs) {
    const auto model = *Load(path);
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : model->Parameters()) parameters.push_back(parameter.tensor);
    return LastOf(runs, parameters, [&](const at::Tensor& inputs) {
      return model->Forward({inputs, at::arange(8) % 3}).loss_sum;
    });
  };
  EXPECT_TRUE(SameBits(nth_run(1), nth_run(5)));
}

// The control: what LibTorch does by itself.
TEST_F(Torchscript, OptimizingExecutor_WouldDependOnHowOftenItHasRun) {
  const std::string path = Save(Deep());
  const auto nth_run = [&](int runs) {
    torch::jit::Module module = torch::jit::load(path);
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& parameter : module.parameters()) parameters.push_back(parameter);
    return LastOf(runs, parameters, [&](const at::Tensor& inputs) {
      return at::cross_entropy_loss(module.forward({inputs}).toTensor(), at::arange(8) % 3,
                                    /*weight=*/{}, at::Reduction::Sum);
    });
  };
  EXPECT_FALSE(SameBits(nth_run(1), nth_run(5)));
}

TEST_F(Torchscript, BufferThatIsReplaced_IsRefused) {
  torch::jit::Module replacing("Replacing");
  replacing.register_parameter("weight", at::ones({4, 3}).requires_grad_(), false);
  replacing.register_buffer("mean", at::zeros({4}));
  replacing.define(R"(
def forward(self, x):
    self.mean = torch.mean(x, [0])
    return torch.matmul(x, self.weight)
)");
  ExpectRefusal(Save(replacing), "'mean'");
}

TEST_F(Torchscript, CounterThatIsNoTensor_IsRefused) {
  torch::jit::Module counting("Counting");
  counting.register_parameter("weight", at::ones({4, 3}).requires_grad_(), false);
  counting.register_attribute("runs", c10::IntType::get(), int64_t{0});
  counting.define(R"(
def forward(self, x):
    self.runs = self.runs + 1
    return torch.matmul(x, self.weight)
)");
  ExpectRefusal(Save(counting), "'runs'");
}

TEST_F(Torchscript, TransposedParameter_BecomesContiguous) {
  torch::jit::Module module("Transposed");
  const at::Tensor weight = at::arange(12, at::kFloat).reshape({3, 4}).t();
  module.register_parameter("weight", weight.detach().requires_grad_(), false);
  module.define("def forward(self, x):\n    return torch.matmul(x, self.weight)\n");
  const auto model = *Load(Save(module));
  EXPECT_TRUE(model->Parameters()[0].tensor.is_contiguous());
  EXPECT_TRUE(at::equal(model->Parameters()[0].tensor, weight));
}

TEST_F(Torchscript, Evaluation_SwitchesDropoutOff) {
  const auto model = *Load(Save(Deep()));
  const auto loss = [&](uint64_t seed) {
    SeedDefaultGenerator(seed);
    return model->Forward(Rows(1)).loss_sum.item<float>();
  };
  EXPECT_NE(loss(1), loss(2));
  model->SetTraining(false);
  EXPECT_EQ(loss(1), loss(2));
}

TEST_F(Torchscript, FileThatCannotBeLoaded_IsRefused) {
  ExpectRefusal(folder_.File("missing.pt"), "cannot be loaded");
  const std::string path = folder_.File("text.pt");
  std::ofstream(path) << "not a model";
  ExpectRefusal(path, "cannot be loaded");
}

TEST_F(Torchscript, NothingToTrain_IsRefused) {
  torch::jit::Module module("Fixed");
  module.register_parameter("weight", at::ones({4, 3}), false);
  module.define("def forward(self, x):\n    return torch.matmul(x, self.weight)\n");
  ExpectRefusal(Save(module), "no trainable parameter");
}

TEST_F(Torchscript, OtherOutputShape_IsRefusedWithBothShapes) {
  torch::jit::Module module("Wide");
  module.register_parameter("weight", at::ones({4, 5}).requires_grad_(), false);
  module.define("def forward(self, x):\n    return torch.matmul(x, self.weight)\n");
  ExpectRefusal(Save(module), "[2, 5]");
  ExpectRefusal(Save(module), "[2, 3]");
}

TEST_F(Torchscript, OtherInputShape_IsRefusedWithTheCause) {
  torch::jit::Module module("Narrow");
  module.register_parameter("weight", at::ones({9, 3}).requires_grad_(), false);
  module.define("def forward(self, x):\n    return torch.matmul(x, self.weight)\n");
  ExpectRefusal(Save(module), "cannot be run on this data: ");
  ExpectRefusal(Save(module), "2x4 and 9x3");
}

}  // namespace
}  // namespace tandem::model
