#pragma once

#include "CLI/App.hpp"
#include "client/context.h"

// Each adds one command, or a few that belong together, to the command line; its file is named
// after it.
namespace tandem::client {

void AddRunCommand(CLI::App* app, Context* context);         // run
void AddTorchrunCommand(CLI::App* app, Context* context);    // torchrun
void AddSubmitCommand(CLI::App* app, Context* context);      // submit
void AddJobCommands(CLI::App* app, Context* context);        // list, status, describe, cancel
void AddResizeCommand(CLI::App* app, Context* context);      // resize
void AddWaitCommand(CLI::App* app, Context* context);        // wait
void AddLogsCommand(CLI::App* app, Context* context);        // logs
void AddLossCommand(CLI::App* app, Context* context);        // loss
void AddVerifyCommand(CLI::App* app, Context* context);      // verify
void AddCompareCommand(CLI::App* app, Context* context);     // compare
void AddExportCommand(CLI::App* app, Context* context);      // export
void AddWorkersCommand(CLI::App* app, Context* context);     // workers
void AddDrainCommand(CLI::App* app, Context* context);       // drain
void AddDoctorCommand(CLI::App* app, Context* context);      // doctor
void AddSpecCommands(CLI::App* app, Context* context);       // check, explain
void AddCompletionCommand(CLI::App* app, Context* context);  // completion
void AddVersionCommand(CLI::App* app, Context* context);     // version

}  // namespace tandem::client
