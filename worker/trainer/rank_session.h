#pragma once

#include "common/file_descriptor.h"
#include "common/progress_page.h"
#include "worker/trainer/hooks.h"

namespace tandem::trainer {

// Runs one rank of one attempt from its first message to its last (trainer.proto) and returns the
// exit code: 0 after RankFinished, 1 after RankFailure. The process exits inside when the agent's
// end of the socket closes. Once per process: kernels are configured for the whole of it.
int RunRank(FileDescriptor agent_socket, ProgressPage page, const Hooks& hooks);

}  // namespace tandem::trainer
