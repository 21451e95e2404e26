#include "common/spec/reserved_variables.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

namespace tandem::spec {

bool IsReservedVariable(absl::string_view name) {
  static const auto& names =
      *new absl::flat_hash_set<absl::string_view>{"RANK",
                                                  "LOCAL_RANK",
                                                  "WORLD_SIZE",
                                                  "LOCAL_WORLD_SIZE",
                                                  "GROUP_RANK",
                                                  "ROLE_NAME",
                                                  "GROUP_WORLD_SIZE",
                                                  "ROLE_RANK",
                                                  "ROLE_WORLD_SIZE",
                                                  "MASTER_ADDR",
                                                  "MASTER_PORT",
                                                  "OMP_NUM_THREADS",
                                                  "CUDA_VISIBLE_DEVICES",
                                                  "TORCH_NCCL_ASYNC_ERROR_HANDLING"};
  return names.contains(name) || absl::StartsWith(name, "TORCHELASTIC_") ||
         absl::StartsWith(name, "TANDEM_");
}

}  // namespace tandem::spec
