#include "client/resume_option.h"

#include "client/checkpoint_source.h"

namespace tandem::client {

void ResumeOption::AddTo(CLI::App* command) {
  command
      ->add_option("--resume-from", source,
                   "Go on from a checkpoint file, the newest of a folder, or that of another job")
      ->type_name("FILE|FOLDER|JOB");
}

absl::Status ResumeOption::ApplyTo(v1::JobSpec* spec, const Context& context) const {
  if (source.empty()) return absl::OkStatus();
  const auto checkpoint = LocateCheckpoint(context, source);
  if (!checkpoint.ok()) return checkpoint.status();
  spec->set_resume_from(checkpoint->path);
  return absl::OkStatus();
}

}  // namespace tandem::client
