#include "worker/ddp/parameter_digest.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "common/sha256.h"

namespace tandem::ddp {
namespace {

void AddDescription(const NamedTensor& named, Sha256& hash) {
  hash.AddText(named.name);
  hash.AddText(c10::toString(named.tensor.scalar_type()));
  hash.AddNumber(named.tensor.dim());
  for (const int64_t size : named.tensor.sizes()) hash.AddNumber(size);
}

void AddTensor(const NamedTensor& named, Sha256& hash) {
  AddDescription(named, hash);
  const at::Tensor values = named.tensor.detach().cpu().contiguous();
  hash.AddBytes(values.const_data_ptr(), values.nbytes());
}

Sha256::Digest DigestOf(absl::Span<const NamedTensor> tensors) {
  Sha256 hash;
  for (const NamedTensor& named : tensors) AddTensor(named, hash);
  return hash.Finish();
}

// Every rank's `mine`, by rank; it is of one length everywhere.
template <typename T>
absl::StatusOr<std::vector<T>> Gather(Transport& transport, absl::Span<const T> mine) {
  std::vector<T> all(mine.size() * transport.world_size());
  std::copy(mine.begin(), mine.end(), all.begin() + transport.rank().value() * mine.size());
  const absl::Span<std::byte> slots(reinterpret_cast<std::byte*>(all.data()),
                                    all.size() * sizeof(T));
  if (absl::Status status = transport.AllGather(slots); !status.ok()) return status;
  return all;
}

struct Summary {
  uint64_t tensors;
  Sha256::Digest digest;

  friend bool operator==(const Summary&, const Summary&) = default;
};

// All ranks come here together, having seen the same summaries.
absl::Status NameFirstDifference(Transport& transport, absl::Span<const NamedTensor> tensors) {
  std::vector<Sha256::Digest> mine;
  for (const NamedTensor& named : tensors) mine.push_back(DigestOf({&named, 1}));
  const auto all = Gather<Sha256::Digest>(transport, mine);
  if (!all.ok()) return all.status();
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (uint32_t rank = 1; rank < transport.world_size(); ++rank) {
      if ((*all)[rank * tensors.size() + i] == (*all)[i]) continue;
      return absl::FailedPreconditionError(absl::StrFormat(
          "'%s' of rank %d is not the same as that of rank 0", tensors[i].name, rank));
    }
  }
  return absl::InternalError("tensors changed while they were compared");
}

}  // namespace

std::string ParameterDigest(absl::Span<const NamedTensor> tensors) {
  return HexOf(DigestOf(tensors));
}

Sha256::Digest DescriptionDigest(absl::Span<const NamedTensor> tensors) {
  Sha256 hash;
  for (const NamedTensor& named : tensors) AddDescription(named, hash);
  return hash.Finish();
}

absl::Status VerifyEqualDigests(Transport& transport, absl::Span<const NamedTensor> tensors) {
  const Summary mine = {tensors.size(), DigestOf(tensors)};
  const auto all = Gather<Summary>(transport, {&mine, 1});
  if (!all.ok()) return all.status();
  bool equal = true;
  for (uint32_t rank = 1; rank < all->size(); ++rank) {
    if ((*all)[rank].tensors != (*all)[0].tensors) {
      return absl::FailedPreconditionError(
          absl::StrFormat("rank %d has %d tensors and rank 0 has %d", rank, (*all)[rank].tensors,
                          (*all)[0].tensors));
    }
    equal = equal && (*all)[rank] == (*all)[0];
  }
  return equal ? absl::OkStatus() : NameFirstDifference(transport, tensors);
}

}  // namespace tandem::ddp
