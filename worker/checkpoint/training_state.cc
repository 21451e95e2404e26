#include "worker/checkpoint/training_state.h"

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/empty.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/ddp/parameter_digest.h"

namespace tandem::checkpoint {
namespace {

using ddp::NamedTensor;
using safetensors::TensorInfo;
using safetensors::TensorView;

constexpr const char* kOptimizerPrefix = "optimizer.";

struct Dtype {
  at::ScalarType type;
  const char* name;  // of safetensors
};
constexpr Dtype kDtypes[] = {{at::kDouble, "F64"},    {at::kFloat, "F32"}, {at::kHalf, "F16"},
                             {at::kBFloat16, "BF16"}, {at::kLong, "I64"},  {at::kInt, "I32"},
                             {at::kShort, "I16"},     {at::kChar, "I8"},   {at::kByte, "U8"},
                             {at::kBool, "BOOL"}};

// Empty: safetensors has no name for it.
std::string NameOf(at::ScalarType type) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype.name;
  }
  return "";
}

std::optional<at::ScalarType> TypeOf(absl::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) return dtype.type;
  }
  return std::nullopt;
}

std::vector<NamedTensor> ModelTensors(const TrainingState& state) {
  std::vector<NamedTensor> tensors = state.parameters;
  tensors.insert(tensors.end(), state.buffers.begin(), state.buffers.end());
  return tensors;
}

bool IsOfOptimizer(absl::string_view name) { return absl::StartsWith(name, kOptimizerPrefix); }

absl::Status CheckOptimizerNames(const TrainingState& state) {
  for (const NamedTensor& named : state.optimizer) {
    if (IsOfOptimizer(named.name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor '", named.name, "': of the optimizer, but not named ", kOptimizerPrefix, "..."));
  }
  return absl::OkStatus();
}

// On the CPU and row after row, whatever the tensor is; shares its memory where it can.
void MakePlain(std::vector<NamedTensor>* tensors) {
  for (NamedTensor& named : *tensors) named.tensor = named.tensor.detach().cpu().contiguous();
}

absl::string_view BytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

absl::StatusOr<std::vector<TensorView>> ViewsOf(const std::vector<NamedTensor>& plain) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : plain) {
    views.push_back({name, NameOf(tensor.scalar_type()), tensor.sizes().vec(), BytesOf(tensor)});
    if (!views.back().dtype.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "': safetensors has no ",
                                                   c10::toString(tensor.scalar_type())));
  }
  return views;
}

void AddNames(const std::vector<NamedTensor>& tensors,
              google::protobuf::RepeatedPtrField<std::string>* names) {
  for (const NamedTensor& named : tensors) names->Add(std::string(named.name));
}

v1::CheckpointManifest ManifestOf(const TrainingIdentity& identity, const TrainingState& state) {
  v1::CheckpointManifest manifest;
  *manifest.mutable_spec() = identity.spec;
  manifest.set_data_fingerprint(identity.data_fingerprint);
  manifest.set_build(identity.build);
  manifest.set_device(identity.device);
  manifest.set_step(state.step);
  manifest.set_receipt(state.receipt);
  manifest.set_loss_scale(state.loss_scale);
  manifest.set_steps_since_loss_scale_changed(state.steps_since_loss_scale_changed);
  manifest.set_parameter_digest(ddp::ParameterDigest(ModelTensors(state)));
  AddNames(state.parameters, manifest.mutable_parameters());
  AddNames(state.buffers, manifest.mutable_buffers());
  return manifest;
}

std::string Described(absl::string_view dtype, const std::vector<int64_t>& shape) {
  return absl::StrCat(dtype, " [", absl::StrJoin(shape, ", "), "]");
}

absl::Status Mismatch(const Checkpoint& checkpoint, absl::string_view name,
                      absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": tensor '", name, "' ", what));
}

absl::Status CheckFits(const Checkpoint& checkpoint, const NamedTensor& named) {
  const TensorInfo* saved = checkpoint.file.Find(named.name);
  if (saved == nullptr) return Mismatch(checkpoint, named.name, "is not there; this job has one");
  const std::string here =
      Described(NameOf(named.tensor.scalar_type()), named.tensor.sizes().vec());
  const std::string there = Described(saved->dtype, saved->shape);
  if (here == there) return absl::OkStatus();
  return Mismatch(checkpoint, named.name,
                  absl::StrCat("is ", there, " and that of this job ", here));
}

absl::Status CheckModelFits(const Checkpoint& checkpoint, const std::vector<NamedTensor>& model) {
  std::set<absl::string_view> here;
  for (const NamedTensor& named : model) {
    if (absl::Status status = CheckFits(checkpoint, named); !status.ok()) return status;
    here.insert(named.name);
  }
  for (const TensorInfo& saved : checkpoint.file.tensors()) {
    if (here.count(saved.name) > 0 || IsOfOptimizer(saved.name)) continue;
    return Mismatch(checkpoint, saved.name, "is there, and this job has none of that name");
  }
  return absl::OkStatus();
}

// A tensor of its own, because those of the file need not be aligned.
at::Tensor ValuesOf(const Checkpoint& checkpoint, const TensorInfo& saved, at::ScalarType type) {
  at::Tensor values = at::empty(saved.shape, type);
  const absl::string_view bytes = checkpoint.file.Bytes(saved);
  if (!bytes.empty()) std::memcpy(values.data_ptr(), bytes.data(), bytes.size());
  return values;
}

void CopyInto(const NamedTensor& named, const Checkpoint& checkpoint) {
  const at::NoGradGuard no_grad;
  named.tensor.copy_(
      ValuesOf(checkpoint, *checkpoint.file.Find(named.name), named.tensor.scalar_type()));
}

absl::StatusOr<std::vector<NamedTensor>> OptimizerTensors(const Checkpoint& checkpoint,
                                                          const std::vector<NamedTensor>& model) {
  std::set<absl::string_view> of_model;
  for (const NamedTensor& named : model) of_model.insert(named.name);
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& saved : checkpoint.file.tensors()) {
    if (of_model.count(saved.name) > 0) continue;
    const auto type = TypeOf(saved.dtype);
    if (!type) return Mismatch(checkpoint, saved.name, absl::StrCat("is ", saved.dtype));
    tensors.push_back({saved.name, ValuesOf(checkpoint, saved, *type)});
  }
  return tensors;
}

}  // namespace

absl::Status WriteTrainingState(int fd, const TrainingIdentity& identity,
                                const TrainingState& state) {
  if (absl::Status named = CheckOptimizerNames(state); !named.ok()) return named;
  std::vector<NamedTensor> tensors = ModelTensors(state);
  tensors.insert(tensors.end(), state.optimizer.begin(), state.optimizer.end());
  MakePlain(&tensors);
  auto views = ViewsOf(tensors);
  if (!views.ok()) return views.status();
  return WriteCheckpoint(fd, ManifestOf(identity, state), *std::move(views));
}

absl::Status RestoreTrainingState(const Checkpoint& checkpoint, TrainingState* state) {
  const std::vector<NamedTensor> model = ModelTensors(*state);
  if (absl::Status fits = CheckModelFits(checkpoint, model); !fits.ok()) return fits;
  auto optimizer = OptimizerTensors(checkpoint, model);
  if (!optimizer.ok()) return optimizer.status();
  for (const NamedTensor& named : model) CopyInto(named, checkpoint);
  state->optimizer = *std::move(optimizer);
  const v1::CheckpointManifest& manifest = checkpoint.manifest;
  state->step = manifest.step();
  state->receipt = manifest.receipt();
  state->loss_scale = manifest.loss_scale();
  state->steps_since_loss_scale_changed = manifest.steps_since_loss_scale_changed();
  return absl::OkStatus();
}

}  // namespace tandem::checkpoint
