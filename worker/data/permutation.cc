#include "worker/data/permutation.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "common/keyed_hash.h"

namespace tandem::data {

uint64_t KeyedGenerator::Next() {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;
  return Scramble(state_ += kGoldenGamma);
}

uint64_t KeyedGenerator::Below(uint64_t bound) {
  // 2^64 mod bound: so many values at the low end would favour small remainders.
  const uint64_t rejected = -bound % bound;
  uint64_t value = Next();
  while (value < rejected) value = Next();
  return value % bound;
}

double KeyedGenerator::Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

std::vector<int64_t> KeyedPermutation(int64_t n, uint64_t key) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  KeyedGenerator generator(key);
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[generator.Below(left)]);
  }
  return order;
}

}  // namespace tandem::data
