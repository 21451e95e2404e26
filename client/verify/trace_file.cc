#include "client/verify/trace_file.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/frame.h"

namespace tandem::verify {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": no trace, or it cannot be read"));
  return bytes.str();
}

absl::Status NoTrace(const std::string& path, const absl::Status& why) {
  return absl::DataLossError(absl::StrCat(path, " is no trace: ", why.message()));
}

absl::StatusOr<RankTrace> ReadTrace(const std::string& path) {
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  RankTrace trace;
  auto taken = TakeFrame(&*bytes, &trace.header);
  if (!taken.ok()) return NoTrace(path, taken.status());
  if (!*taken) return absl::NotFoundError(absl::StrCat(path, " has no header"));
  v1::StepTrace step;
  while ((taken = TakeFrame(&*bytes, &step)).ok() && *taken) trace.steps.push_back(step);
  if (!taken.ok()) return NoTrace(path, taken.status());
  return trace;
}

}  // namespace

absl::StatusOr<std::vector<RankTrace>> ReadTraces(const std::string& folder, uint32_t world_size) {
  std::vector<RankTrace> traces;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    auto trace = ReadTrace(absl::StrCat(folder, "/rank-", rank, ".trace"));
    if (!trace.ok()) return trace.status();
    traces.push_back(*std::move(trace));
  }
  return traces;
}

}  // namespace tandem::verify
