#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "tandem/v1/spec.pb.h"

// The fields of a specification whose rule says that they are paths.
namespace tandem::spec {

// Takes all paths out of a specification, or a part of one.
void ClearPaths(google::protobuf::Message* message);

// Makes every relative path in the specification absolute, as seen from `folder`.
void ResolvePaths(const std::string& folder, v1::JobSpec* spec);

// For whoever does not know the folder that a relative path would start from.
//   InvalidArgument  one of them is relative; the message begins with its key.
absl::Status CheckPathsAreAbsolute(const v1::JobSpec& spec);

}  // namespace tandem::spec
