#pragma once

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tandem::ddp {

// What LibTorch or Gloo threw, as a status of one line that begins with `what_failed`.
//   DeadlineExceeded  a time-out.
//   Unavailable       a connection or the network failed.
//   InvalidArgument   an operator has no deterministic implementation.
//   Internal          anything else.
absl::Status StatusFromException(const std::exception& error, absl::string_view what_failed);

}  // namespace tandem::ddp
