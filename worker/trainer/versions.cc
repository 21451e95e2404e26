#include "worker/trainer/versions.h"

#include "absl/strings/str_cat.h"
#include "torch/version.h"

namespace tandem::trainer {

std::string LibraryVersions() {
  return absl::StrCat("LibTorch ", TORCH_VERSION, ", CUDA none, NCCL none");
}

}  // namespace tandem::trainer
