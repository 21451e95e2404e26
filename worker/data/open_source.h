#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/sample_source.h"

namespace tandem::data {

struct OpenedSource {
  std::unique_ptr<SampleSource> source;
  std::string fingerprint;  // as in fingerprint.h; of synthetic samples, the seed counts too
};

// Reads, checks or makes the samples of any kind of `data`, all defaults of which are filled in.
// `seed` is the job's; only synthetic samples come from it.
//   InvalidArgument  a file cannot be read, breaks a rule, does not fit the specification or, with what
//                    is made of it, the memory; the message names the file, the place in it and the
//                    key.
absl::StatusOr<OpenedSource> OpenSource(const v1::Data& data, uint64_t seed);

}  // namespace tandem::data
