// `tandem version`.
#include <google/protobuf/struct.pb.h>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "common/version.h"

namespace tandem::client {

void AddVersionCommand(CLI::App* app, Context* context) {
  app->add_subcommand("version", "The version of this program")->callback([=] {
    context->command = [=]() -> absl::StatusOr<ExitCode> {
      google::protobuf::Struct version;
      (*version.mutable_fields())["version"].set_string_value(kVersion);
      context->Answer(version, [] { return absl::StrCat("tandem ", kVersion, "\n"); });
      return ExitCode::kSuccess;
    };
  });
}

}  // namespace tandem::client
