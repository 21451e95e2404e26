#include "worker/checkpoint/checkpoint_writer.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::checkpoint {

std::string FolderOfJob(const v1::Checkpoint& spec, const std::string& job_id) {
  return absl::StrCat(spec.dir(), "/", job_id);
}

CheckpointWriter::CheckpointWriter(Options options, FileCalls& calls)
    : options_(std::move(options)), folder_(options_.folder, calls) {}

absl::Status CheckpointWriter::Probe() {
  absl::Status status = CreateFolders(options_.folder);
  if (status.ok() && access(options_.folder.c_str(), W_OK | X_OK) != 0) {
    status = absl::ErrnoToStatus(errno, options_.folder);
  }
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("checkpoint.dir: ", status.message()));
}

bool CheckpointWriter::IsDue(uint64_t step) const {
  if (step == options_.total_steps) return true;
  return options_.every_steps > 0 && step % options_.every_steps == 0;
}

absl::StatusOr<v1::CheckpointFile> CheckpointWriter::Write(const TrainingState& state) {
  const absl::Status written = folder_.Write(
      state.step, [&](int fd) { return WriteTrainingState(fd, options_.identity, state); });
  if (!written.ok()) return written;
  if (absl::Status pruned = folder_.Prune(options_.keep, state.step); !pruned.ok()) return pruned;
  v1::CheckpointFile file;
  file.set_step(state.step);
  file.set_path(folder_.FileOf(state.step));
  return file;
}

}  // namespace tandem::checkpoint
