#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/samples.h"

namespace tandem::data {

// The samples of a whole file of comma-separated numbers, one a line, all lines of equal width. Lines
// end in LF or CRLF; the last may lack it. A field may have blanks around it, but no quotes. `name`
// stands for the path in messages.
//   InvalidArgument  the text breaks a rule; the message starts with "NAME:LINE:" (lines counted from
//                    1) or, where it is about the whole file, with "NAME:", and names the column
//                    (counted from 1).
absl::StatusOr<Samples> ParseCsv(absl::string_view text, absl::string_view name,
                                 const v1::Csv& spec);

}  // namespace tandem::data
