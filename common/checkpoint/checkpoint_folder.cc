#include "common/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tandem::checkpoint {
namespace {

// As many digits as make names and steps sort alike for longer than anybody trains.
std::string NameOf(uint64_t step) { return absl::StrFormat("step-%012d.safetensors", step); }

std::optional<uint64_t> StepOf(const std::string& name) {
  absl::string_view digits = name;
  uint64_t step = 0;
  if (!absl::ConsumePrefix(&digits, "step-") || !absl::ConsumeSuffix(&digits, ".safetensors") ||
      !absl::SimpleAtoi(digits, &step) || NameOf(step) != name) {
    return std::nullopt;
  }
  return step;
}

absl::StatusOr<Checkpoint> OpenStep(const std::string& path, uint64_t step) {
  auto checkpoint = OpenCheckpoint(path);
  if (!checkpoint.ok() || checkpoint->manifest.step() == step) return checkpoint;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is of step ", checkpoint->manifest.step(), ", not of the one it says"));
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, FileCalls& calls)
    : path_(std::move(path)), calls_(calls) {}

std::string CheckpointFolder::FileOf(uint64_t step) const {
  return absl::StrCat(path_, "/", NameOf(step));
}

absl::StatusOr<std::vector<uint64_t>> CheckpointFolder::Steps() const {
  std::vector<uint64_t> steps;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (const auto step = StepOf(entry->path().filename())) steps.push_back(*step);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat(path_, ": cannot list it"));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::Status CheckpointFolder::Write(uint64_t step, absl::FunctionRef<absl::Status(int fd)> write) {
  if (absl::Status made = CreateFolders(path_, calls_); !made.ok()) return made;
  return WriteFileAtomically(FileOf(step), IfExists::kReplace, write, calls_);
}

absl::Status CheckpointFolder::Prune(uint32_t keep, uint64_t step) {
  const auto steps = Steps();
  if (!steps.ok()) return steps.status();
  for (size_t i = 0; i + keep < steps->size(); ++i) {
    const std::string file = FileOf((*steps)[i]);
    if ((*steps)[i] == step || calls_.Remove(file) == 0 || errno == ENOENT) continue;
    return absl::ErrnoToStatus(errno, absl::StrCat(file, ": cannot remove the old checkpoint"));
  }
  return RemoveStaleTemporaries(path_, calls_);
}

absl::StatusOr<CheckpointFolder::Newest> CheckpointFolder::OpenNewest() const {
  const auto steps = Steps();
  if (!steps.ok()) return steps.status();
  std::vector<std::string> skipped;
  for (auto step = steps->rbegin(); step != steps->rend(); ++step) {
    auto checkpoint = OpenStep(FileOf(*step), *step);
    if (checkpoint.ok()) return Newest{*std::move(checkpoint), std::move(skipped)};
    skipped.emplace_back(checkpoint.status().message());
  }
  if (skipped.empty()) return absl::NotFoundError(absl::StrCat(path_, ": holds no checkpoint"));
  return absl::NotFoundError(absl::StrCat(path_, ": holds no checkpoint that is whole (",
                                          absl::StrJoin(skipped, "; "), ")"));
}

}  // namespace tandem::checkpoint
