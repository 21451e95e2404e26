#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_folder.h"

namespace tandem::checkpoint {

// What a user means by `path`: that file; or the newest whole checkpoint of that folder; or, where the
// folder holds none itself, of the one folder below it that does.
//   NotFound         there is nothing of that name, or no whole checkpoint in it.
//   InvalidArgument  several folders below it hold checkpoints, three of which are named; or the file
//                    is none.
//   DataLoss         the file is torn or was damaged.
// All messages start with the path.
absl::StatusOr<CheckpointFolder::Newest> FindCheckpoint(const std::string& path);

}  // namespace tandem::checkpoint
