#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace tandem::client {

// One document in the protobuf JSON mapping, with a newline at its end. Fields at their default are
// there too; only what is really unset (a cause, a loss before the first step) is not.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace tandem::client
