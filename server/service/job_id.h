#pragma once

#include "absl/random/bit_gen_ref.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"

namespace tandem::service {

// "digits-k3v8qd" for "Digits": the name in lower case, what is not a letter or digit replaced by
// '-', then six random characters without those that look alike. Safe as a file name, a label and
// an argument. May repeat: about one chance in a billion.
JobId MakeJobId(absl::string_view name, absl::BitGenRef random);

}  // namespace tandem::service
