#include "worker/model/precision.h"

#include "ATen/autocast_mode.h"

namespace tandem::model {

namespace autocast = at::autocast;

PrecisionGuard::PrecisionGuard(v1::Precision precision, c10::DeviceType device)
    : device_(device),
      was_enabled_(autocast::is_autocast_enabled(device)),
      was_caching_(autocast::is_autocast_cache_enabled()),
      type_before_(autocast::get_autocast_dtype(device)) {
  const bool low = precision == v1::PRECISION_BF16 || precision == v1::PRECISION_FP16;
  autocast::set_autocast_enabled(device_, low);
  autocast::set_autocast_cache_enabled(false);
  if (!low) return;
  autocast::set_autocast_dtype(device_,
                               precision == v1::PRECISION_BF16 ? at::kBFloat16 : at::kHalf);
}

PrecisionGuard::~PrecisionGuard() {
  autocast::set_autocast_dtype(device_, type_before_);
  autocast::set_autocast_cache_enabled(was_caching_);
  autocast::set_autocast_enabled(device_, was_enabled_);
}

void LossScaler::Update(bool finite) {
  if (!finite) {
    state_ = {.scale = state_.scale / 2, .good_steps = 0};
  } else if (++state_.good_steps == kGoodStepsToGrow) {
    state_ = {.scale = state_.scale * 2, .good_steps = 0};
  }
}

}  // namespace tandem::model
