// `tandem export`: the trained weights of a job as a file that Python reads.
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/checkpoint_source.h"
#include "client/commands.h"
#include "client/table.h"
#include "common/checkpoint/export_weights.h"
#include "common/checkpoint/find_checkpoint.h"
#include "tandem/v1/client.pb.h"

namespace tandem::client {
namespace {

struct ExportOptions {
  std::string source;
  std::string target;
  bool force = false;
};

struct Export {
  std::string path;
  checkpoint::ExportedWeights weights;
  v1::CheckpointManifest manifest;
  std::vector<std::string> skipped;  // newer checkpoints, each with the reason
};

// Nothing that a coordinator could help with.
absl::Status OfThisMachine(const absl::Status& status) {
  return absl::FailedPreconditionError(status.message());
}

absl::Status CannotOpen(const CheckpointSource& source, const absl::Status& status) {
  std::error_code ignored;
  if (!source.job || std::filesystem::exists(source.path, ignored)) return OfThisMachine(status);
  const std::string host =
      source.job->ranks().empty() ? "" : absl::StrCat(", ", source.job->ranks(0).worker());
  return absl::NotFoundError(absl::StrCat(source.path, ", the checkpoints of ", source.job->id(),
                                          ", is not on this machine: export where its rank 0 ran",
                                          host, ", or copy it here"));
}

// Not a device or a pipe, which would be replaced by a file, nor a link, which would be cut.
absl::Status CheckTarget(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("--to needs the name of a file");
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(path, ": is not a plain file"));
}

absl::StatusOr<Export> ExportTo(const Context& context, const ExportOptions& options) {
  if (absl::Status status = CheckTarget(options.target); !status.ok()) return status;
  const auto source = LocateCheckpoint(context, options.source);
  if (!source.ok()) return source.status();
  const auto found = checkpoint::FindCheckpoint(source->path);
  if (!found.ok()) return CannotOpen(*source, found.status());
  const auto weights = checkpoint::ExportWeights(
      found->checkpoint, options.target, options.force ? IfExists::kReplace : IfExists::kFail);
  if (absl::IsAlreadyExists(weights.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.target, ": is there already; --force replaces it"));
  }
  if (!weights.ok()) return OfThisMachine(weights.status());
  return Export{options.target, *weights, found->checkpoint.manifest, found->skipped};
}

v1::ExportedModel AsMessage(const Export& done) {
  v1::ExportedModel message;
  message.set_path(done.path);
  message.set_tensors(done.weights.tensors);
  message.set_parameters(done.weights.parameters);
  message.set_step(done.manifest.step());
  message.set_parameter_digest(done.manifest.parameter_digest());
  return message;
}

std::string AsText(const Export& done) {
  const auto row = [](const std::string& what, const std::string& value) {
    return std::vector<Cell>{{""}, {what}, {value}};
  };
  return absl::StrCat(done.path, "\n",
                      FormatTable({row("step", absl::StrCat(done.manifest.step())),
                                   row("tensors", absl::StrCat(done.weights.tensors)),
                                   row("parameters", absl::StrCat(done.weights.parameters)),
                                   row("digest", done.manifest.parameter_digest())},
                                  false));
}

absl::StatusOr<ExitCode> Run(Context* context, const ExportOptions& options) {
  const auto done = ExportTo(*context, options);
  if (!done.ok()) return done.status();
  for (const std::string& why : done->skipped) {
    context->console.Remark(absl::StrCat("tandem: skipped a newer checkpoint: ", why));
  }
  context->Answer(AsMessage(*done), [&] { return AsText(*done); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddExportCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app->add_subcommand("export", "Write the trained weights as a safetensors file");
  command
      ->add_option(
          "JOB|FILE", options->source,
          "Id of the job or a beginning that no other has, or a checkpoint file, or a folder "
          "whose newest is taken")
      ->required();
  command->add_option("--to", options->target, "The file to write")->type_name("FILE")->required();
  command->add_flag("--force", options->force, "Replace the file where it is there already");
  command->callback([=] { context->command = [=] { return Run(context, *options); }; });
}

}  // namespace tandem::client
