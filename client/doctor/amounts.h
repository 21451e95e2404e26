#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tandem::client::doctor {

// "64 MiB", "139.8 GiB".
std::string BytesText(uint64_t bytes);

// The first two figures of a version in a text: {2, 28} of "NCCL 2.28.9". Unset: there are none.
using MajorMinor = std::pair<int, int>;
std::optional<MajorMinor> VersionIn(const std::string& text);

}  // namespace tandem::client::doctor
