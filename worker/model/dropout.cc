#include "worker/model/dropout.h"

#include "ATen/TensorOperators.h"
#include "worker/model/dropout_mask.h"
#include "worker/model/seed.h"

namespace tandem::model {

at::Tensor Dropout(const at::Tensor& values, double probability, bool training) {
  if (!training || probability == 0) return values;
  return values * DropoutMask(values, NextDraw(), probability).to(values.options());
}

}  // namespace tandem::model
