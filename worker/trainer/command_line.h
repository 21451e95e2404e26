#pragma once

#include "worker/trainer/hooks.h"

namespace tandem::trainer {

// The whole program: reads `--agent-fd N --progress-fd M`, `--probe`, `--self-test` or `--version`,
// and runs. Returns the exit code: 2 when it was not started by an agent, else as RunRank or
// SelfTestMain.
int TrainerMain(int argc, char** argv, const Hooks& hooks);

}  // namespace tandem::trainer
