#pragma once

#include <string>
#include <vector>

#include "tandem/v1/trainer.pb.h"

namespace tandem::command {

// What the environment of a program names, beyond what its agent says.
struct ProgramHandles {
  // Descriptor of the program on which it reports.
  int report_fd = 0;
  // Into which torchelastic writes the exception that ends the program.
  std::string error_file;
};

// Folder of the job's checkpoints; empty where it has none.
std::string CheckpointDir(const v1::Prepare& prepare);

// What the program of a rank finds in its environment, over what it inherits: "NAME=value", each name once.
// First the user's own, then what torchrun sets, then what is Tandem's.
std::vector<std::string> ProgramEnvironment(const v1::Prepare& prepare, const v1::Start& start,
                                            const ProgramHandles& handles);

}  // namespace tandem::command
