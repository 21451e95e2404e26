#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"

// A protobuf message as it travels on a stream socket: 4 bytes of length, little-endian, then the
// message.
namespace tandem {

inline constexpr size_t kFrameHeaderBytes = 4;
// Refused on both sides: nothing of ours is near it, so it is a peer that speaks something else.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

// Appends the frame of `message`.
//   InvalidArgument  longer than kMaxFrameBytes; nothing was appended.
absl::Status AppendFrame(const google::protobuf::MessageLite& message, std::string* bytes);

// Takes the first frame off the front of what has arrived so far. False: it is not there as a whole
// yet.
//   DataLoss  these bytes are no frame, and neither is what follows.
absl::StatusOr<bool> TakeFrame(std::string* bytes, google::protobuf::MessageLite* message);

}  // namespace tandem
