#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"

namespace tandem::ddp {

// A node of the reduction tree: the leaves [begin, begin + size). `size` is a power of two that
// divides `begin`.
struct Block {
  uint32_t begin = 0;
  uint32_t size = 1;

  friend bool operator==(const Block&, const Block&) = default;
};

// Whether `left` and `right` are the two halves of one node.
constexpr bool AreSiblings(Block left, Block right) {
  return left.size == right.size && left.begin % (2 * left.size) == 0 &&
         left.begin + left.size == right.begin;
}

// The one place that decides the order of additions.
//
// The leaves are the logical ranks 0..L-1 and every node is add(left half, right half). Nodes are
// pushed from left to right; two of them become their parent as soon as both are there, like a
// carry in a binary counter, so that k leaves never hold more than log2(k) + 1 values. Whatever
// cuts the leaves into ranks, every node of the tree has the same operands: inside a rank leaves
// are pushed, and at the root the blocks that the ranks have left over.
//
// `Add` is T(T left, T right). Not thread-safe.
template <typename T, typename Add>
class TreeAccumulator {
 public:
  struct Node {
    Block block;
    T value;
  };

  explicit TreeAccumulator(Add add) : add_(std::move(add)) {}

  // `block` begins where the block pushed before it ended.
  void Push(Block block, T value) {
    nodes_.push_back({block, std::move(value)});
    while (nodes_.size() >= 2 &&
           AreSiblings(nodes_[nodes_.size() - 2].block, nodes_.back().block)) {
      MergeLastTwo();
    }
  }

  // The maximal aligned blocks of what was pushed, from left to right: one, once all L leaves were.
  const std::vector<Node>& nodes() const { return nodes_; }

  void Clear() { nodes_.clear(); }

 private:
  void MergeLastTwo() {
    Node right = std::move(nodes_.back());
    nodes_.pop_back();
    Node& left = nodes_.back();
    left.value = add_(std::move(left.value), std::move(right.value));
    left.block.size *= 2;
  }

  Add add_;
  std::vector<Node> nodes_;
};

// Makes an Add for std::optional<T> out of one for T. A node with one absent child is the other
// child, unchanged: adding zeros instead would turn -0.0 into +0.0. With both absent it is absent.
template <typename Add>
struct AddPresent {
  Add add;

  template <typename T>
  std::optional<T> operator()(std::optional<T> left, std::optional<T> right) const {
    if (!right) return left;
    if (!left) return right;
    return add(*std::move(left), *std::move(right));
  }
};

// The maximal aligned blocks of `range`, from left to right: what TreeAccumulator has left after
// its leaves. At most 2 log2(L) - 2, for L leaves in all (one if L < 4).
std::vector<Block> AlignedBlocks(LogicalRange range);

// The most blocks that any rank has: 1 if `world_size` is a power of two.
size_t MaxBlocksPerRank(uint32_t world_size, uint32_t logical_ranks);

//   InvalidArgument  `logical_ranks` is not a power of two, or `world_size` not
//   in 1..logical_ranks.
absl::Status CheckTreeShape(uint32_t world_size, uint32_t logical_ranks);

}  // namespace tandem::ddp
