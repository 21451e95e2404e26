#pragma once

#include <cstdint>

#include "c10/core/DeviceType.h"
#include "c10/core/ScalarType.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::model {

// While it lives, this thread computes matrix products and convolutions on devices of this type
// in the given precision (LibTorch's autocast); does nothing for fp32. A weight is converted anew at each use:
// nothing is kept from one logical rank to the next.
class PrecisionGuard {
 public:
  PrecisionGuard(v1::Precision precision, c10::DeviceType device);
  ~PrecisionGuard();
  PrecisionGuard(const PrecisionGuard&) = delete;
  PrecisionGuard& operator=(const PrecisionGuard&) = delete;

 private:
  const c10::DeviceType device_;
  const bool was_enabled_, was_caching_;
  const c10::ScalarType type_before_;
};

// The factor on the loss that keeps fp16 gradients from vanishing; all ranks must tell it the same.
class LossScaler {
 public:
  static constexpr double kFirstScale = 65536;
  static constexpr uint64_t kGoodStepsToGrow = 2000;

  // What a checkpoint saves.
  struct State {
    double scale = kFirstScale;
    uint64_t good_steps = 0;  // since the scale changed

    friend bool operator==(const State&, const State&) = default;
  };

  LossScaler() = default;
  explicit LossScaler(State state) : state_(state) {}

  // The loss is multiplied by it before backward and the reduced gradient divided after: a power of
  // two, so that only overflow and underflow can differ.
  double scale() const { return state_.scale; }
  const State& state() const { return state_; }

  // After each step. `finite`: whether the gradients of all logical ranks were; where not, the step
  // is skipped and the scale halves. It doubles after kGoodStepsToGrow good ones.
  void Update(bool finite);

 private:
  State state_;
};

}  // namespace tandem::model
