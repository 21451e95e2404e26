#include "common/spec/spec_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/spec/field_rules.h"
#include "common/spec/paths.h"
#include "common/spec/tree_reader.h"
#include "common/spec/yaml_reader.h"

namespace tandem::spec {
namespace {

absl::Status CannotRead(const std::string& name, absl::string_view why) {
  return absl::NotFoundError(absl::StrCat(name, ": ", why));
}

// Stops one byte after the limit, so that ParseYaml refuses what is longer.
absl::StatusOr<std::string> ReadBounded(int fd, const std::string& name) {
  std::string text(kMaxSpecBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(name, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

absl::StatusOr<std::string> ReadSpecText(const std::string& path) {
  if (path == "-") return ReadBounded(STDIN_FILENO, "standard input");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return CannotRead(path, std::strerror(errno));
  struct stat info;
  if (fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return CannotRead(path, "is a folder; expected a file with a job specification");
  }
  return ReadBounded(file.get(), path);
}

std::string FolderOf(const std::string& path) {
  return path == "-" ? "" : std::filesystem::path(path).parent_path().string();
}

// A command without a folder of its own is started in that of the file.
void SetWorkingDir(const std::string& folder, v1::JobSpec* spec) {
  if (!spec->has_command() || spec->command().has_working_dir()) return;
  std::error_code error;
  const auto path = std::filesystem::current_path(error) / folder / ".";
  spec->mutable_command()->set_working_dir(path.lexically_normal().parent_path());
}

absl::StatusOr<v1::JobSpec> Complete(SpecSource source, const std::string& folder,
                                     const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const absl::Status applied = ApplySetting(setting, &source);
    if (!applied.ok()) return applied;
    ResolvePaths("", &source.spec);
  }
  SetWorkingDir(folder, &source.spec);
  const absl::Status valid = Check(source);
  if (!valid.ok()) return valid;
  return std::move(source.spec);
}

}  // namespace

absl::StatusOr<v1::JobSpec> LoadSpec(const std::string& path,
                                     const std::vector<std::string>& settings) {
  const auto text = ReadSpecText(path);
  if (!text.ok()) return text.status();
  auto source = ParseYaml(*text, path == "-" ? "standard input" : path);
  if (!source.ok()) return source.status();
  ResolvePaths(FolderOf(path), &source->spec);
  return Complete(*std::move(source), FolderOf(path), settings);
}

absl::StatusOr<v1::JobSpec> CompleteSpec(v1::JobSpec spec,
                                         const std::vector<std::string>& settings) {
  return Complete({std::move(spec), kCommandLine, {}}, "", settings);
}

}  // namespace tandem::spec
