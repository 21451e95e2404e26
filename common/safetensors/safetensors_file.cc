#include "common/safetensors/safetensors_file.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/read_file.h"
#include "common/safetensors/header_reader.h"

namespace tandem::safetensors {

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  return Parse(*std::move(bytes), path);
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Parse(std::string bytes, absl::string_view name) {
  SafetensorsFile file;
  file.bytes_ = std::move(bytes);
  const absl::Status status = file.Read();
  if (!status.ok()) return absl::DataLossError(absl::StrCat(name, ": ", status.message()));
  return file;
}

absl::Status SafetensorsFile::Read() {
  if (bytes_.size() < kLengthBytes) return absl::DataLossError("too short for a safetensors file");
  const uint64_t length = LoadLittleEndian64(bytes_.data());
  if (length > kMaxHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("no safetensors file: it announces a header of ", length, " bytes"));
  }
  if (length > bytes_.size() - kLengthBytes) {
    return absl::DataLossError(absl::StrCat("ends within its header of ", length, " bytes"));
  }
  data_ = kLengthBytes + length;
  auto header = ReadHeader(absl::string_view(bytes_).substr(kLengthBytes, length));
  if (!header.ok()) return header.status();
  tensors_ = std::move(header->tensors);
  metadata_ = std::move(header->metadata);
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  return CheckCover();
}

absl::Status SafetensorsFile::CheckCover() const {
  const uint64_t available = bytes_.size() - data_;
  uint64_t covered = 0;
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.begin != covered || tensor.end > available) {
      return absl::DataLossError(absl::StrCat(
          "tensor '", absl::CHexEscape(tensor.name), "' has bytes ", tensor.begin, " to ",
          tensor.end, " where the next begin at ", covered, " and the last end at ", available));
    }
    covered = tensor.end;
  }
  if (covered == available) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(available - covered, " bytes belong to no tensor"));
}

const TensorInfo* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

absl::string_view SafetensorsFile::Bytes(const TensorInfo& tensor) const {
  return absl::string_view(bytes_).substr(data_ + tensor.begin, tensor.end - tensor.begin);
}

}  // namespace tandem::safetensors
