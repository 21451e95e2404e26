#include "common/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tandem {

absl::StatusOr<TemporaryFolder> TemporaryFolder::Create(const std::string& name) {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string path = (parent / (name + "-XXXXXX")).string();
  if (!error && mkdtemp(path.data()) != nullptr) return TemporaryFolder(path);
  return absl::NotFoundError(absl::StrCat("no temporary folder ", path, ": ",
                                          error ? error.message() : std::strerror(errno)));
}

}  // namespace tandem
