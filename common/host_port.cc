#include "common/host_port.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tandem {

std::string HostPort::ToString() const {
  const bool v6 = absl::StrContains(host, ':');
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

bool HostPort::IsLoopback() const {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  int port = -1;
  const bool has_port =
      colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &port);
  if (!has_port || port < 0 || port > 65535 || host.empty() ||
      (!bracketed && absl::StrContains(host, ':'))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not HOST:PORT, such as 127.0.0.1:4270, [::1]:4270 or localhost:4270"));
  }
  return HostPort{std::string(host), port};
}

}  // namespace tandem
