#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tandem {

// A new folder that only this user can read; it goes with everything in it.
class TemporaryFolder {
 public:
  //   NotFound  it cannot be made.
  static absl::StatusOr<TemporaryFolder> Create(const std::string& name);

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace tandem
