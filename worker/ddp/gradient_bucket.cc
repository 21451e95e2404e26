#include "worker/ddp/gradient_bucket.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"

namespace tandem::ddp {
namespace {

constexpr size_t kCacheLine = 64;

size_t RoundUp(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// A binary counter over a block of k leaves holds log2(k) values besides the one in the block's
// place.
size_t ScratchNeeded(const std::vector<Block>& blocks) {
  size_t most = 0;
  for (const Block& block : blocks) {
    most = std::max<size_t>(most, std::countr_zero(block.size));
  }
  return most;
}

}  // namespace

GradientBucket::LeafBuffer* GradientBucket::AddLeaves::operator()(LeafBuffer* left,
                                                                  LeafBuffer* right) const {
  bucket->layout_.AddInto(left->gradient, right->gradient);
  bucket->free_scratch_.push_back(right);
  return left;
}

FlatGradient* GradientBucket::AddBlocks::operator()(FlatGradient* left, FlatGradient* right) const {
  layout->AddInto(*left, *right);
  return left;
}

GradientBucket::GradientBucket(Transport& transport, const Constants& constants,
                               const std::vector<at::Tensor>& parameters)
    : transport_(transport),
      constants_(constants),
      parameters_(parameters),
      layout_(parameters),
      own_blocks_(AlignedBlocks(
          LogicalRangeOf(transport.rank(), transport.world_size(), constants.logical_ranks))),
      own_tree_(AddLeaves{this}),
      root_tree_(AddBlocks{&layout_}) {
  MakeSlots();
  MakeLeafBuffers();
}

void GradientBucket::MakeSlots() {
  const uint32_t world_size = transport_.world_size();
  const size_t blocks = MaxBlocksPerRank(world_size, constants_.logical_ranks);
  const size_t values_begin = RoundUp(sizeof(ExchangeHeader) + blocks * layout_.segments());
  const size_t values_bytes = RoundUp(layout_.elements() * sizeof(float));
  slot_bytes_ = values_begin + blocks * values_bytes;
  slots_ = at::zeros({static_cast<int64_t>(world_size * slot_bytes_)}, at::kByte);
  rank_blocks_.resize(world_size);
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const size_t own = AlignedBlocks(RangeOf(Rank(rank))).size();
    for (size_t block = 0; block < own; ++block) {
      const size_t begin = rank * slot_bytes_ + values_begin + block * values_bytes;
      std::byte* present = SlotOf(Rank(rank)) + sizeof(ExchangeHeader) + block * layout_.segments();
      rank_blocks_[rank].push_back(
          {slots_.narrow(0, begin, layout_.elements() * sizeof(float)).view(at::kFloat),
           reinterpret_cast<uint8_t*>(present)});
    }
  }
  sums_ = SegmentsOf(rank_blocks_[0][0]);
}

void GradientBucket::MakeLeafBuffers() {
  for (const FlatGradient& block : rank_blocks_[transport_.rank().value()]) {
    block_buffers_.push_back({block, SegmentsOf(block)});
  }
  const size_t scratch = ScratchNeeded(own_blocks_);
  scratch_present_.assign(scratch, std::vector<uint8_t>(layout_.segments()));
  for (std::vector<uint8_t>& present : scratch_present_) {
    const FlatGradient gradient = {at::empty({layout_.elements()}, at::kFloat), present.data()};
    scratch_buffers_.push_back({gradient, SegmentsOf(gradient)});
  }
  for (LeafBuffer& buffer : scratch_buffers_) free_scratch_.push_back(&buffer);
}

std::vector<at::Tensor> GradientBucket::SegmentsOf(const FlatGradient& gradient) const {
  std::vector<at::Tensor> segments;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    segments.push_back(layout_.Segment(gradient, i).view(parameters_[i].sizes()));
  }
  return segments;
}

void GradientBucket::OpenLeaf(LogicalRank leaf) {
  if (leaf.value() == own_blocks_.front().begin) own_tree_.Clear();
  leaf_ = leaf;
  open_ = TakeBufferFor(leaf);
  std::fill_n(open_->gradient.present, layout_.segments(), uint8_t{0});
  missing_ = layout_.segments();
}

GradientBucket::LeafBuffer* GradientBucket::TakeBufferFor(LogicalRank leaf) {
  for (size_t i = 0; i < own_blocks_.size(); ++i) {
    if (own_blocks_[i].begin == leaf.value()) return &block_buffers_[i];
  }
  LeafBuffer* buffer = free_scratch_.back();
  free_scratch_.pop_back();
  return buffer;
}

absl::Status GradientBucket::Store(size_t segment, const at::Tensor& gradient) {
  if (open_ == nullptr || open_->gradient.present[segment]) {
    return absl::FailedPreconditionError("it has a gradient already");
  }
  open_->segments[segment].copy_(gradient);
  open_->gradient.present[segment] = 1;
  --missing_;
  return absl::OkStatus();
}

void GradientBucket::CloseLeaf() {
  if (open_ == nullptr) return;
  own_tree_.Push({leaf_.value()}, std::exchange(open_, nullptr));
}

void GradientBucket::Launch(uint64_t step) {
  step_ = step;
  const ExchangeHeader header = HeaderOf(transport_.rank());
  std::memcpy(SlotOf(transport_.rank()), &header, sizeof(header));
  auto* bytes = static_cast<std::byte*>(slots_.mutable_data_ptr());
  pending_ = transport_.StartAllGather({bytes, slots_.nbytes()});
}

absl::Status GradientBucket::AwaitSum() {
  if (absl::Status status = std::exchange(pending_, nullptr)->Wait(); !status.ok()) {
    return {status.code(), absl::StrFormat("gradient bucket %d of step %d: %s", constants_.index,
                                           step_, status.message())};
  }
  if (absl::Status status = CheckHeaders(); !status.ok()) return status;
  root_tree_.Clear();
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    size_t index = 0;
    for (const Block& block : AlignedBlocks(RangeOf(Rank(rank)))) {
      root_tree_.Push(block, &rank_blocks_[rank][index++]);
    }
  }
  return absl::OkStatus();
}

absl::Status GradientBucket::CheckHeaders() const {
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    ExchangeHeader received;
    std::memcpy(&received, SlotOf(Rank(rank)), sizeof(received));
    absl::Status status = CheckHeader(Rank(rank), HeaderOf(Rank(rank)), received);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

LogicalRange GradientBucket::RangeOf(Rank rank) const {
  return LogicalRangeOf(rank, transport_.world_size(), constants_.logical_ranks);
}

ExchangeHeader GradientBucket::HeaderOf(Rank rank) const {
  return {.job_hash = constants_.job_hash,
          .step = step_,
          .elements = static_cast<uint64_t>(layout_.elements()),
          .bucket = constants_.index,
          .logical_ranks = constants_.logical_ranks,
          .leaves = RangeOf(rank)};
}

std::byte* GradientBucket::SlotOf(Rank rank) const {
  return static_cast<std::byte*>(slots_.mutable_data_ptr()) + rank.value() * slot_bytes_;
}

}  // namespace tandem::ddp
