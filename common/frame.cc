#include "common/frame.h"

#include "absl/strings/str_cat.h"
#include "common/little_endian.h"

namespace tandem {

absl::Status AppendFrame(const google::protobuf::MessageLite& message, std::string* bytes) {
  const size_t size = message.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("message of ", size, " bytes is too long"));
  }
  char header[kFrameHeaderBytes];
  StoreLittleEndian32(static_cast<uint32_t>(size), header);
  bytes->append(header, kFrameHeaderBytes);
  message.AppendToString(bytes);
  return absl::OkStatus();
}

absl::StatusOr<bool> TakeFrame(std::string* bytes, google::protobuf::MessageLite* message) {
  if (bytes->size() < kFrameHeaderBytes) return false;
  const size_t size = LoadLittleEndian32(bytes->data());
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
