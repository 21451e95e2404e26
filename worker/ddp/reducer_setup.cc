#include "worker/ddp/reducer_setup.h"

#include <limits>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "worker/ddp/parameter_digest.h"

namespace tandem::ddp {
namespace {

absl::Status CheckParameter(const NamedTensor& named, at::Device device) {
  const at::Tensor& tensor = named.tensor;
  const bool trainable = tensor.defined() && tensor.is_leaf() && tensor.requires_grad();
  if (!trainable || !at::isFloatingType(tensor.scalar_type())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter '", named.name, "' is not a floating-point leaf that requires a gradient"));
  }
  if (tensor.device() == device) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("parameter '", named.name, "' is on ",
                                                 tensor.device().str(),
                                                 ", and this rank trains on ", device.str()));
}

// What every rank must have the same of.
struct Agreement {
  uint64_t logical_ranks;
  uint64_t job_hash;
  uint64_t bucket_bytes;
  uint64_t gather_bytes;  // largest number: unset
  uint64_t reduction;
  Sha256::Digest parameters;
};

std::string Disagreement(const Agreement& a, const Agreement& b) {
  if (a.logical_ranks != b.logical_ranks) return "number of logical ranks";
  if (a.job_hash != b.job_hash)
    return "specification, data, build or kind of device (its log begins with them)";
  if (a.bucket_bytes != b.bucket_bytes) return "bucket size";
  if (a.gather_bytes != b.gather_bytes) return "size up to which buckets are gathered";
  if (a.reduction != b.reduction) return "kind of reduction";
  if (a.parameters != b.parameters) return "list of parameters";
  return "";
}

}  // namespace

absl::Status CheckParameters(const std::vector<NamedTensor>& parameters,
                             const device::Device* device) {
  const at::Device expected = device == nullptr ? at::kCPU : at::Device(device->torch_name());
  if (parameters.empty()) return absl::InvalidArgumentError("there is no parameter to train");
  std::set<const void*> seen;
  for (const NamedTensor& named : parameters) {
    if (absl::Status status = CheckParameter(named, expected); !status.ok()) return status;
    if (!seen.insert(named.tensor.unsafeGetTensorImpl()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", named.name, "' is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyAgreement(Transport& transport, const std::vector<NamedTensor>& parameters,
                             const GradientReducerOptions& options) {
  const Agreement mine = {
      .logical_ranks = options.logical_ranks,
      .job_hash = options.job_hash,
      .bucket_bytes = options.bucket_bytes,
      .gather_bytes = options.gather_bytes.value_or(std::numeric_limits<size_t>::max()),
      .reduction = static_cast<uint64_t>(options.reduction),
      .parameters = DescriptionDigest(parameters),
  };
  std::vector<Agreement> all(transport.world_size(), mine);
  const absl::Span<std::byte> slots(reinterpret_cast<std::byte*>(all.data()),
                                    all.size() * sizeof(Agreement));
  if (absl::Status status = transport.AllGather(slots); !status.ok()) return status;
  for (uint32_t rank = 1; rank < all.size(); ++rank) {
    const std::string difference = Disagreement(all[0], all[rank]);
    if (difference.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("rank %d has another %s than rank 0", rank, difference));
  }
  return absl::OkStatus();
}

std::vector<std::vector<size_t>> AssignBuckets(const std::vector<NamedTensor>& parameters,
                                               size_t bucket_bytes) {
  std::vector<std::vector<size_t>> buckets;
  size_t used = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    const size_t bytes = parameters[i].tensor.numel() * sizeof(float);
    if (buckets.empty() || used + bytes > bucket_bytes) {
      buckets.emplace_back();
      used = 0;
    }
    buckets.back().push_back(i);
    used += bytes;
  }
  return buckets;
}

}  // namespace tandem::ddp
