#include "common/checkpoint/export_weights.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/content_digest.h"

namespace tandem::checkpoint {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;
using safetensors::TensorView;

absl::Status AddViews(const Checkpoint& checkpoint, const Names& names,
                      std::vector<TensorView>* views) {
  for (const std::string& name : names) {
    const auto* tensor = checkpoint.file.Find(name);
    if (tensor == nullptr) {
      return absl::DataLossError(
          absl::StrCat(checkpoint.path, ": tensor '", name, "' of its manifest is not there"));
    }
    views->push_back(ViewOf(checkpoint.file, *tensor));
  }
  return absl::OkStatus();
}

uint64_t NumbersIn(const std::vector<TensorView>& tensors) {
  uint64_t sum = 0;
  for (const TensorView& tensor : tensors) {
    uint64_t product = 1;
    for (const int64_t size : tensor.shape) product *= static_cast<uint64_t>(size);
    sum += product;
  }
  return sum;
}

}  // namespace

absl::StatusOr<ExportedWeights> ExportWeights(const Checkpoint& checkpoint, const std::string& path,
                                              IfExists if_exists) {
  std::vector<TensorView> tensors;
  absl::Status added = AddViews(checkpoint, checkpoint.manifest.parameters(), &tensors);
  const uint64_t parameters = NumbersIn(tensors);
  added.Update(AddViews(checkpoint, checkpoint.manifest.buffers(), &tensors));
  if (!added.ok()) return added;
  const absl::Status written = WriteFileAtomically(path, if_exists, [&](int fd) {
    // What Python's packages take for "made by PyTorch".
    return safetensors::WriteSafetensors(fd, tensors, {{"format", "pt"}});
  });
  if (!written.ok()) return written;
  return ExportedWeights{tensors.size(), parameters};
}

}  // namespace tandem::checkpoint
