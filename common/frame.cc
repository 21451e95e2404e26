#include "common/frame.h"

#include <string_view>

#include "absl/base/internal/endian.h"
#include "absl/strings/str_cat.h"

namespace tandem {

absl::Status AppendFrame(const google::protobuf::MessageLite& message, std::string* bytes) {
  const size_t size = message.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("message of ", size, " bytes is too long"));
  }
  char header[kFrameHeaderBytes];
  absl::little_endian::Store32(header, static_cast<uint32_t>(size));
  bytes->append(header, kFrameHeaderBytes);
  message.AppendToString(bytes);
  return absl::OkStatus();
}

absl::StatusOr<bool> TakeFrame(std::string* bytes, google::protobuf::MessageLite* message) {
  if (bytes->size() < kFrameHeaderBytes) return false;
  const size_t size = absl::little_endian::Load32(bytes->data());
  if (size > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat("a message announces ", size, " bytes"));
  }
  if (bytes->size() - kFrameHeaderBytes < size) return false;
  if (!message->ParseFromArray(bytes->data() + kFrameHeaderBytes, static_cast<int>(size))) {
    return absl::DataLossError("a message cannot be read");
  }
  bytes->erase(0, kFrameHeaderBytes + size);
  return true;
}

}  // namespace tandem
