#include "client/pick_job.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tandem::client {
namespace {

absl::Status Ambiguous(const std::string& beginning, const std::vector<std::string>& ids) {
  constexpr size_t kShown = 5;
  const auto end = ids.begin() + static_cast<ptrdiff_t>(std::min(ids.size(), kShown));
  return absl::InvalidArgumentError(absl::StrCat("'", beginning, "' may be ", ids.size(),
                                                 " jobs: ", absl::StrJoin(ids.begin(), end, ", "),
                                                 ids.size() > kShown ? ", ..." : ""));
}

}  // namespace

absl::StatusOr<std::string> PickJob(const v1::ListJobsResponse& jobs,
                                    const std::string& beginning) {
  std::vector<std::string> ids;
  for (const v1::Job& job : jobs.jobs()) {
    if (job.id() == beginning) return beginning;
    if (!beginning.empty() && absl::StartsWith(job.id(), beginning)) ids.push_back(job.id());
  }
  if (ids.size() == 1) return ids.front();
  if (ids.size() > 1) return Ambiguous(beginning, ids);
  return absl::NotFoundError(
      absl::StrCat("there is no job '", beginning, "': see `tandem list` for those there are"));
}

}  // namespace tandem::client
