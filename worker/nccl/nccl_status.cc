#include "worker/nccl/nccl_status.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tandem::nccl {
namespace {

std::string OneLine(absl::string_view text) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipWhitespace());
  return absl::StrJoin(lines, "; ");
}

absl::StatusCode CodeOf(NcclResult result) {
  switch (result) {
    case NcclResult::kRemoteError:
      return absl::StatusCode::kUnavailable;
    case NcclResult::kInvalidUsage:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

std::string TextOf(const NcclApi& api, NcclComm* comm, NcclResult result) {
  const std::string meaning = OneLine(api.get_error_string(result));
  const char* warning = api.get_last_error(comm);
  if (warning == nullptr || OneLine(warning).empty()) return absl::StrCat("NCCL: ", meaning);
  return absl::StrCat("NCCL: ", meaning, ": ", OneLine(warning));
}

absl::Status StatusOf(const NcclApi& api, NcclComm* comm, NcclResult result) {
  return absl::Status(CodeOf(result), TextOf(api, comm, result));
}

}  // namespace tandem::nccl
