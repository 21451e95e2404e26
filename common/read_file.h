#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tandem {

// All bytes of a file.
//   InvalidArgument  it cannot be opened or read, is not a plain file, does not fit into the memory, or
//                    becomes shorter meanwhile; the message starts with the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace tandem
