#include "server/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace tandem {

absl::Status WritePortFile(const std::string& path, const HostPort& grpc, const HostPort& http) {
  const std::string temporary = absl::StrCat(path, ".", getpid());
  std::ofstream file(temporary);
  file << "grpc " << grpc.ToString() << "\nhttp " << http.ToString() << "\n";
  file.close();
  if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  std::remove(temporary.c_str());
  return absl::InternalError(
      absl::StrCat("cannot write --port-file ", path, ": ", std::strerror(error)));
}

}  // namespace tandem
