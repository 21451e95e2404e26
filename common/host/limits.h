#pragma once

#include <cstdint>
#include <string>

#include "tandem/v1/host.pb.h"

namespace tandem::host {

v1::FolderSpace SpaceOf(const std::string& folder);

// What this process, and so what it starts, may have.
v1::ProcessLimits LimitsOfThisProcess();

// The tightest memory limit on the way from the cgroup at `path` ("/a/b") up to `root`, where the
// hierarchy (v2) is mounted; 0: none.
uint64_t MemoryLimit(const std::string& root, const std::string& path);

}  // namespace tandem::host
