#pragma once

#include <concepts>
#include <cstdint>

namespace tandem {

// What a random number is for. The first key of every MixKeys, so that no two uses share a number.
// The values are part of every job's result: never change or reuse one.
enum class RandomUse : uint64_t {
  // 1 is retired: weights come from the seed itself.
  kEpochOrder = 2,  // seed, epoch
  kForward = 3,     // seed, step, logical rank: dropout and whatever else a model draws
  kHoldout = 4,     // seed
  kReceipt = 5,     // what a training did: digests that go on from step to step
  kAugment = 6,     // seed, epoch, sample: random transforms
  kSynthetic = 7,   // seed, 0 for what is to be learned or 1 for samples, index: made-up data
  kMistake = 8,     // what `unsafe` asks for
};

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every input bit moves
// about half of the output bits.
constexpr uint64_t Scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// One 64-bit number out of a use and its keys: the same on every machine and compiler. The order of
// the keys counts, and so does their number: seed 0, epoch 1 and seed 1, epoch 0 are different.
template <std::unsigned_integral... Keys>
constexpr uint64_t MixKeys(RandomUse use, Keys... keys) {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd
  uint64_t hash = Scramble(static_cast<uint64_t>(use) + kGoldenGamma * (sizeof...(keys) + 1));
  ((hash = Scramble((hash ^ keys) + kGoldenGamma)), ...);
  return hash;
}

}  // namespace tandem
