#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "worker/device/device.h"
#include "worker/device/tree_sum_kernel.h"

namespace tandem::device {

// Whether the addresses of all values are a multiple of 16 bytes apart.
enum class Addresses : uint8_t { kTogether, kApart };

struct TreeShape {
  uint32_t world_size = 1, logical_ranks = 1;
  std::vector<int64_t> segments;  // elements of each
  double absent = 0;              // probability, for each block and segment
  Addresses addresses = Addresses::kTogether;
};

// What the ranks of a world have left over, with values of any bits but NaN: subnormals, zeros of
// both signs and huge ones are frequent. Values of absent segments are not initialized.
class TreeScene {
 public:
  using Value = std::optional<float>;
  using Add = std::function<Value(Value left, Value right)>;

  TreeScene(const TreeShape& shape, uint64_t seed);

  const std::vector<TreeSum::Block>& blocks() const { return blocks_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  size_t SegmentOf(int64_t element) const;
  Value At(const TreeSum::Block& block, int64_t element) const;

  // A sum over all blocks, to be written to `sum`.
  TreeSum Sum(float* sum, float scale) const;
  // Memory for a sum, as aligned as the blocks are; every element is kUntouched.
  float* NewSum();

  // Over all elements, by recursion over the nodes. Where all blocks are absent it is kUntouched.
  std::vector<float> Definition(const Add& add, float scale) const;

  static constexpr float kUntouched = 12345;

 private:
  float* NewMemory();
  TreeSum::Block NewBlock(uint32_t begin, uint32_t size);
  Value NodeAt(uint32_t begin, uint32_t size, int64_t element, const Add& add) const;

  const TreeShape shape_;
  std::mt19937_64 random_;
  std::vector<int64_t> offsets_ = {0};
  std::vector<std::unique_ptr<float[]>> memory_;
  std::vector<std::unique_ptr<uint8_t[]>> presence_;
  std::vector<TreeSum::Block> blocks_;
};

// Absent children as in the contract, and one addition.
TreeScene::Value AddNodes(TreeScene::Value left, TreeScene::Value right);

// What a device of `threads` in each of `rows` leaves in `sum`, whose threads run in another order.
void AddOnGrid(const TreeSum& sum, int64_t threads, uint32_t rows);

// NaN is as good as NaN: the contract promises bits for finite values.
bool SameFloats(const std::vector<float>& expected, const float* actual);

}  // namespace tandem::device
