#pragma once

#include "tandem/v1/trainer.pb.h"
#include "worker/process/frame_channel.h"

namespace tandem::agent {

// The agent's end of the conversation with one trainer.
using TrainerChannel = FrameChannel<v1::TrainerToAgent>;

}  // namespace tandem::agent
