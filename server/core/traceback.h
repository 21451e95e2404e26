#pragma once

#include <string>

#include "google/protobuf/repeated_ptr_field.h"

// What a Python program says before it dies of an exception.
namespace tandem::core {

// "ValueError: no such column", of the last traceback in these lines of stderr; empty: there is none. With or without
// the "[rank1]: " that torch puts before each line.
std::string ExceptionIn(const google::protobuf::RepeatedPtrField<std::string>& lines);

// Whether an exception says that another rank has gone, so that its own end came first.
bool SaysThatPeerIsGone(const std::string& exception);

}  // namespace tandem::core
