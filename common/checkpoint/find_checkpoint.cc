#include "common/checkpoint/find_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tandem::checkpoint {
namespace {

bool HoldsCheckpoints(const std::string& folder) {
  const auto steps = CheckpointFolder(folder).Steps();
  return steps.ok() && !steps->empty();
}

std::vector<std::string> FoldersWithCheckpointsIn(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (HoldsCheckpoints(entry->path())) folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

absl::Status WhichOne(const std::string& path, const std::vector<std::string>& folders) {
  constexpr size_t kShown = 3;
  const auto end = folders.begin() + static_cast<ptrdiff_t>(std::min(folders.size(), kShown));
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": holds the checkpoints of ", folders.size(), " jobs; name one of them: ",
      absl::StrJoin(folders.begin(), end, ", "), folders.size() > kShown ? ", ..." : ""));
}

absl::StatusOr<CheckpointFolder::Newest> FindInFolder(const std::string& path) {
  if (HoldsCheckpoints(path)) return CheckpointFolder(path).OpenNewest();
  const std::vector<std::string> below = FoldersWithCheckpointsIn(path);
  if (below.size() > 1) return WhichOne(path, below);
  return CheckpointFolder(below.empty() ? path : below.front()).OpenNewest();
}

}  // namespace

absl::StatusOr<CheckpointFolder::Newest> FindCheckpoint(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::directory) return FindInFolder(path);
  if (type == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no such file or folder"));
  }
  auto checkpoint = OpenCheckpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  return CheckpointFolder::Newest{*std::move(checkpoint), {}};
}

}  // namespace tandem::checkpoint
