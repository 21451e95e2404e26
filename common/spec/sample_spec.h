#pragma once

#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

// The least that is valid, for tests.
inline v1::JobSpec SampleSpec() {
  v1::JobSpec spec;
  spec.set_name("digits");
  spec.set_global_batch_size(64);
  spec.set_epochs(2);
  spec.mutable_data()->mutable_csv()->set_path("/data/digits.csv");
  spec.mutable_data()->mutable_csv()->set_classes(10);
  spec.mutable_model()->mutable_mlp()->add_hidden(32);
  spec.mutable_optimizer()->mutable_adamw()->set_lr(0.001);
  return spec;
}

}  // namespace tandem::spec
