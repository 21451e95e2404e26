#pragma once

#include <optional>
#include <string>

#include "google/protobuf/message.h"

namespace tandem::checkpoint {

// A key under which two specifications say different things, and what, as written in YAML.
struct SpecDifference {
  std::string key;  // "optimizer.adamw.lr"; of a choice between sections, what stands above them
  std::string first;
  std::string second;
};

// The first difference of two messages of the same type, in the order of their fields. Compares every
// field there is, so that a new key counts without being named here.
std::optional<SpecDifference> FirstDifference(const google::protobuf::Message& first,
                                              const google::protobuf::Message& second);

}  // namespace tandem::checkpoint
