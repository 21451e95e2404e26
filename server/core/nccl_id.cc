#include "server/core/nccl_id.h"

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/slot_request.h"

namespace tandem::core {
namespace {

// ncclUniqueId, of every version.
constexpr size_t kBytes = 128;

}  // namespace

bool MeetsByNcclId(const v1::Job& job) {
  return !job.spec().has_command() && !job.ranks().empty() &&
         KindOfSlot(job.ranks(0).slot()) != kCpuKind;
}

std::string ProblemWithNcclId(const v1::Job& job, const v1::Prepared& rank_0) {
  const size_t size = rank_0.nccl_unique_id().size();
  if (!MeetsByNcclId(job) || size == kBytes) return "";
  if (size > 0) return absl::StrCat("an NCCL id of ", size, " bytes instead of ", kBytes);
  return job.world_size() > 1 ? "no NCCL id to meet by" : "";
}

std::string NcclFingerprint(absl::string_view id) {
  constexpr size_t kDigits = 8;
  if (id.empty()) return "";
  Sha256 sha256;
  sha256.AddBytes(id.data(), id.size());
  return HexOf(sha256.Finish()).substr(0, kDigits);
}

}  // namespace tandem::core
