#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::command {

// The exception that torchelastic's @record has written down (TORCHELASTIC_ERROR_FILE): its message, and
// its call stack as the last lines. Unset where the text is nothing of that kind.
std::optional<v1::RankFailure> ParseErrorFile(absl::string_view text);

}  // namespace tandem::command
