#include "client/checkpoint_source.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

bool IsPath(const std::string& text) {
  std::error_code ignored;
  return absl::StrContains(text, '/') || std::filesystem::exists(text, ignored);
}

std::string Absolute(const std::string& path) {
  std::error_code ignored;
  return (std::filesystem::current_path(ignored) / path).lexically_normal();
}

absl::Status HasNone(const v1::Job& job) {
  const char* remedy = job.spec().has_checkpoint()
                           ? " yet: it writes one every checkpoint.every_steps, and at its end"
                           : ": add the key checkpoint.dir to its specification";
  return absl::FailedPreconditionError(absl::StrCat(job.id(), " has no checkpoint", remedy));
}

absl::StatusOr<v1::Job> FindJob(const Context& context, const std::string& beginning) {
  const auto connection = context.Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(beginning);
  if (!id.ok()) return id.status();
  return (*connection)->Get(*id);
}

}  // namespace

absl::StatusOr<CheckpointSource> LocateCheckpoint(const Context& context, const std::string& text) {
  if (IsPath(text)) return CheckpointSource{Absolute(text), std::nullopt};
  auto job = FindJob(context, text);
  if (!job.ok()) {
    return absl::Status(job.status().code(),
                        absl::StrCat("there is no file ", text, ", and ", job.status().message()));
  }
  if (!job->has_checkpoint()) return HasNone(*job);
  // The file itself may have been pruned since, or be damaged.
  std::string folder = std::filesystem::path(job->checkpoint().path()).parent_path();
  return CheckpointSource{std::move(folder), *std::move(job)};
}

}  // namespace tandem::client
