#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "client/program/program_job.h"
#include "client/spec_options.h"

namespace tandem::client {

// What a command runs: a specification file, or a program behind --; and what its command line says
// about that.
struct JobOptions {
  SpecOptions spec;
  ProgramRequest request;

  // This outlives `command`.
  void AddTo(CLI::App* command);
  // For a command that tries several numbers of workers.
  void AddWithoutWorkersTo(CLI::App* command);
  // For a command that is given a program, and never a file.
  void AddForTorchrunTo(CLI::App* command);

  // `program`: the words behind --, if that was typed.
  //   InvalidArgument  neither or both are there, or options that do not go with what is.
  // and errors as for spec::LoadSpec and JobOf.
  absl::StatusOr<ProgramJob> Load(const std::optional<std::vector<std::string>>& program,
                                  const Surroundings& surroundings) const;

 private:
  void AddForPrograms(CLI::App* command, const std::function<void()>& add_torchruns);
  void AddProgramOptionsTo(CLI::App* command);
  absl::StatusOr<ProgramJob> LoadFile() const;
  absl::StatusOr<ProgramJob> LoadProgram(const std::vector<std::string>& program,
                                         const Surroundings& surroundings) const;

  // Those that say something about a program.
  std::vector<const CLI::Option*> for_programs_;
};

// Of this process.
Surroundings SurroundingsOfThisProcess();

}  // namespace tandem::client
