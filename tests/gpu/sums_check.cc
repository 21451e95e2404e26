#include "tests/gpu/sums_check.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "worker/device/tree_sum_scene.h"

namespace tandem {
namespace {

using device::TreeScene;
using device::TreeShape;

constexpr float kScale = 1.0F / 48;

std::vector<TreeShape> Shapes() {
  // Borders that are no multiple of a vector, segments without elements, and more than one grid covers.
  const std::vector<int64_t> small = {5, 0, 16, 1, 3, 7, 64, 0, 2, 33};
  const std::vector<int64_t> large = {1 << 20, 3, (1 << 18) + 1};
  const std::vector<std::pair<uint32_t, uint32_t>> worlds = {{1, 1}, {1, 8},  {2, 2},  {3, 8},
                                                             {5, 8}, {7, 16}, {64, 64}};
  std::vector<TreeShape> shapes;
  for (const auto& [world_size, leaves] : worlds) {
    for (const double absent : {0.0, 0.4}) {
      for (const auto addresses : {device::Addresses::kTogether, device::Addresses::kApart}) {
        shapes.push_back({world_size, leaves, small, absent, addresses});
      }
    }
  }
  shapes.push_back({2, 2, large, 0.0, device::Addresses::kTogether});
  shapes.push_back({3, 8, large, 0.4, device::Addresses::kApart});
  return shapes;
}

// Copies between main memory and the device's, each waited for.
class Copies {
 public:
  explicit Copies(device::Device& device) : device_(device) {}

  absl::Status Do(void* to, const void* from, size_t bytes) {
    device::Stream& stream = device_.ComputeStream();
    if (absl::Status status = device_.Copy(to, from, bytes, stream); !status.ok()) return status;
    const auto done = device_.Record(stream);
    if (!done.ok()) return done.status();
    while (true) {
      const absl::StatusOr<bool> reached = (*done)->Reached();
      if (!reached.ok()) return reached.status();
      if (*reached) return absl::OkStatus();
      std::this_thread::yield();
    }
  }

 private:
  device::Device& device_;
};

// How many floats past an aligned address: the device's copy is that far past one as well.
size_t Past(const float* address) {
  return reinterpret_cast<uintptr_t>(address) / sizeof(float) % 4;
}

class OneSum {
 public:
  OneSum(device::Device& device, const TreeShape& shape, uint64_t seed)
      : device_(device), copies_(device), scene_(shape, seed), elements_(scene_.offsets().back()) {}

  absl::Status Run(SumsSeen* seen) {
    float* const untouched = scene_.NewSum();
    const auto sum = Upload(untouched);
    if (!sum.ok()) return sum.status();
    device::TreeSum work = scene_.Sum(*sum, kScale);
    for (device::TreeSum::Block& block : work.blocks) {
      const auto values = Upload(block.values);
      if (!values.ok()) return values.status();
      block.values = *values;
    }
    absl::Status status = device_.AddInTree(work, device_.ComputeStream());
    if (!status.ok()) return status;
    std::vector<float> result(static_cast<size_t>(elements_));
    status = copies_.Do(result.data(), *sum, Bytes());
    Compare(scene_.Definition(device::AddNodes, kScale), result, seen);
    return status;
  }

 private:
  size_t Bytes() const { return static_cast<size_t>(elements_) * sizeof(float); }

  absl::StatusOr<float*> Upload(const float* values) {
    auto memory = device_.Allocate(Bytes() + 4 * sizeof(float));
    if (!memory.ok()) return memory.status();
    auto* const to = reinterpret_cast<float*>((*memory)->data()) + Past(values);
    memory_.push_back(*std::move(memory));
    absl::Status status = copies_.Do(to, values, Bytes());
    if (!status.ok()) return status;
    return to;
  }

  static void Compare(const std::vector<float>& expected, const std::vector<float>& actual,
                      SumsSeen* seen) {
    ++seen->sums;
    seen->values += expected.size();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!device::SameFloats({expected[i]}, &actual[i])) ++seen->different;
    }
  }

  device::Device& device_;
  Copies copies_;
  TreeScene scene_;
  const int64_t elements_;
  std::vector<std::unique_ptr<device::Memory>> memory_;
};

}  // namespace

absl::StatusOr<SumsSeen> CheckSums(device::Device& device) {
  SumsSeen seen;
  uint64_t seed = 0;
  for (const TreeShape& shape : Shapes()) {
    absl::Status status = OneSum(device, shape, ++seed).Run(&seen);
    if (!status.ok()) return status;
  }
  return seen;
}

}  // namespace tandem
