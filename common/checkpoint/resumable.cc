#include "common/checkpoint/resumable.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/spec_difference.h"
#include "common/spec/paths.h"
#include "common/spec/spec.h"

namespace tandem::checkpoint {
namespace {

// Under cosine the learning rate of every step depends on which is the last.
bool LengthChangesTheRate(const v1::JobSpec& spec) { return spec.schedule().has_cosine(); }

void ClearLength(v1::JobSpec* spec) {
  spec->clear_steps();
  spec->clear_epochs();
}

// Of `evaluate`, only what it keeps out of the training changes the training.
void ClearMeasuring(v1::JobSpec* spec) {
  if (!spec->has_evaluate()) return;
  spec->mutable_evaluate()->clear_every_epochs();
  spec->mutable_evaluate()->clear_every_steps();
  spec->mutable_evaluate()->clear_data();
  if (!spec->evaluate().has_holdout()) spec->clear_evaluate();
}

void ClearLoading(v1::Data* data) {
  data->clear_loader_threads();
  data->clear_prefetch();
  spec::ClearPaths(data);
}

// Only what the bits depend on.
v1::JobSpec Normalized(v1::JobSpec spec) {
  spec::FillDefaults(&spec);
  spec.clear_name();
  spec.clear_workers();
  spec.clear_min_workers();
  spec.clear_restart();
  spec.clear_priority();
  spec.clear_hang_timeout();
  spec.clear_on_coordinator_loss();
  spec.clear_checkpoint();
  spec.clear_resume_from();
  spec.clear_trace();
  spec.clear_verify_every();
  spec.clear_device();  // what it was trained on counts, not whether that was asked for
  ClearMeasuring(&spec);
  ClearLoading(spec.mutable_data());
  return spec;
}

absl::Status Refuse(absl::string_view key, absl::string_view saved, absl::string_view now) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": the checkpoint has ", saved, " and this job ", now,
                   "; a job that resumes has to keep what its result depends on"));
}

absl::Status CompareSpecs(const v1::JobSpec& saved, const v1::JobSpec& now) {
  v1::JobSpec before = Normalized(saved), after = Normalized(now);
  if (!LengthChangesTheRate(before) || !LengthChangesTheRate(after)) {
    ClearLength(&before);
    ClearLength(&after);
  }
  const auto difference = FirstDifference(before, after);
  if (!difference) return absl::OkStatus();
  return Refuse(difference->key, difference->first, difference->second);
}

absl::Status CompareText(absl::string_view key, absl::string_view what, absl::string_view saved,
                         absl::string_view now) {
  if (saved == now) return absl::OkStatus();
  return Refuse(key, absl::StrCat(what, saved), now);
}

}  // namespace

absl::Status CheckResumable(const v1::CheckpointManifest& manifest, const TrainingIdentity& now,
                            uint64_t total_steps) {
  absl::Status status = CompareSpecs(manifest.spec(), now.spec);
  status.Update(CompareText("data", "samples with the fingerprint ", manifest.data_fingerprint(),
                            now.data_fingerprint));
  status.Update(CompareText("build", "", manifest.build(), now.build));
  status.Update(CompareText("device", "", manifest.device(), now.device));
  if (!status.ok() || manifest.step() <= total_steps) return status;
  return absl::InvalidArgumentError(absl::StrCat(now.spec.has_epochs() ? "epochs" : "steps",
                                                 ": the checkpoint is of step ", manifest.step(),
                                                 " and this job ends after ", total_steps));
}

}  // namespace tandem::checkpoint
