#pragma once

#include <cstdint>

#include "tandem/v1/spec.pb.h"

namespace tandem::model {

// The learning rate before the schedule: the optimizer's, times what `scale_lr` says about
// r = global_batch_size / base_global_batch_size: r or sqrt(r). Nothing depends on the world size.
double BaseLearningRate(const v1::JobSpec& spec);

// What BaseLearningRate is multiplied by in step `step` of `total_steps`, counted from 0. With w
// warm-up steps it is min(1, (step + 1) / w) times
//
//   constant, or no kind  1
//   cosine                f + (1 - f) (1 + cos(pi (step - w) / (total_steps - w))) / 2 with f the
//                         final factor; 1 up to step w
//   step                  factor ^ floor(step / every_steps)
double LearningRateFactor(const v1::Schedule& schedule, uint64_t step, uint64_t total_steps);

}  // namespace tandem::model
