#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// A program as it was typed. Pure functions.
namespace tandem::client {

enum class ProgramKind {
  // As in a shell; only a first word that ends in .py is run by Python, as torchrun does.
  kAsTyped,
  // As it is.
  kItself,
  kPythonScript,
  kPythonModule,
};

// The words to start: `python` is put in front of a script or module of Python, told not to hold back
// what it prints.
std::vector<std::string> WordsToStart(const std::vector<std::string>& typed, ProgramKind kind,
                                      const std::string& python);

// `text` with '-' for every character that the name of a job cannot have, cut where it would be too
// long; "program" where nothing is left.
std::string PlainName(absl::string_view text);

// What people would call it: "train" for train.py, whoever runs it; "package.train" for a module.
std::string NameOfProgram(const std::vector<std::string>& words);

// As it can be typed in a shell, on one line and no longer than `most` bytes.
std::string ShellText(const std::vector<std::string>& words, size_t most);

}  // namespace tandem::client
