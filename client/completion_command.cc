// `tandem completion`: prints a script for the user's shell.
#include <memory>

#include "client/commands.h"
#include "client/completion_script.h"

namespace tandem::client {
namespace {

std::string ScriptFor(const std::string& shell, const CLI::App& app) {
  if (shell == "bash") return BashCompletion(app);
  return shell == "zsh" ? ZshCompletion(app) : FishCompletion(app);
}

}  // namespace

void AddCompletionCommand(CLI::App* app, Context* context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand("completion", "A completion script for a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([=] {
    context->command = [=]() -> absl::StatusOr<ExitCode> {
      context->console.Answer(ScriptFor(*shell, *app));
      return ExitCode::kSuccess;
    };
  });
}

}  // namespace tandem::client
