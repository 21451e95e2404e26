// `tandem version`.
#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "common/version.h"
#include "tandem/v1/client.pb.h"

namespace tandem::client {

void AddVersionCommand(CLI::App* app, Context* context) {
  app->add_subcommand("version", "The version of this program")->callback([=] {
    context->command = [=]() -> absl::StatusOr<ExitCode> {
      v1::Version version;
      version.set_version(kVersion);
      context->Answer(version, [] { return absl::StrCat("tandem ", kVersion, "\n"); });
      return ExitCode::kSuccess;
    };
  });
}

}  // namespace tandem::client
