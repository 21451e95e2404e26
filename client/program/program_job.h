#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/program/shown_output.h"
#include "client/program/torchrun_options.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

// A job as a command line says it that names a program and no specification.
struct ProgramRequest {
  // At least one.
  std::vector<std::string> words;
  // Said to torchrun: a script of Python where nothing else is said, and no restarts.
  bool as_torchrun = false;
  // Empty: derived.
  std::string name;
  // "NAME=VALUE".
  std::vector<std::string> env;
  // Empty: the current folder.
  std::string working_dir;
  TorchrunOptions torchrun;
};

// Where it was typed.
struct Surroundings {
  std::string folder;
  // What runs scripts of Python.
  std::string python = "python3";
  // Cores of the machine that will run the job; unset where that is for a coordinator to say.
  std::optional<uint32_t> cores;
  // Of each process, where its user has said it (OMP_NUM_THREADS).
  std::optional<uint32_t> threads;
  // That machine is all there is.
  bool one_node = false;
};

struct ProgramJob {
  // Not validated yet. Without `workers` where the command line does not say how many.
  v1::JobSpec spec;
  ShownOutput shown;
  // Empty: none.
  std::string log_dir;
  // Lines for people.
  std::vector<std::string> remarks;
};

// The job that was meant. Pure.
//   InvalidArgument  options that do not go together, or a number that is none; the message begins
//                    with the option.
absl::StatusOr<ProgramJob> JobOf(const ProgramRequest& request, const Surroundings& surroundings);

}  // namespace tandem::client
