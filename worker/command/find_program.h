#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem::command {

// The file that execvp(3) would run: `name` itself where it has a slash, else the first one of that name in
// the folders of `path` ("/usr/bin:/bin") that may be executed.
//   NotFound  there is none; the message says where was looked.
absl::StatusOr<std::string> FindProgram(const std::string& name, absl::string_view path);

}  // namespace tandem::command
