#include "worker/checkpoint/checkpoint_writer.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::checkpoint {

std::string FolderOfJob(const v1::Checkpoint& spec, const std::string& job_id) {
  return absl::StrCat(spec.dir(), "/", job_id);
}

CheckpointWriter::CheckpointWriter(Options options, const AttemptFence& fence, FileCalls& calls)
    : options_(std::move(options)),
      fence_(fence),
      calls_(fence, calls),
      folder_(options_.folder, calls_) {}

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
  absl::Status written = folder_.Write(
      state.step, [&](int fd) { return WriteTrainingState(fd, options_.identity, state); });
  if (written.ok()) written = folder_.Prune(options_.keep, state.step);
  if (!written.ok()) {
    // If it was the fence, that is why.
    const absl::Status fenced = fence_.Check();
    return absl::IsAlreadyExists(fenced) ? fenced : written;
  }
  v1::CheckpointFile file;
  file.set_step(state.step);
  file.set_path(folder_.FileOf(state.step));
  return file;
}

}  // namespace tandem::checkpoint
