#include "worker/command/find_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tandem::command {
namespace {

bool IsExecutable(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name, absl::string_view path) {
  if (absl::StrContains(name, '/')) return name;
  for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    const std::string file = absl::StrCat(folder, "/", name);
    if (IsExecutable(file)) return file;
  }
  return absl::NotFoundError(absl::StrCat("cannot start ", name, ": it is not in PATH (", path,
                                          ") of the worker; give the program with its folder"));
}

}  // namespace tandem::command
