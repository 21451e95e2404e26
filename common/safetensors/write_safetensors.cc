#include "common/safetensors/write_safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/safetensors/tensor_info.h"
#include "common/utf8.h"
#include "nlohmann/json.hpp"

namespace tandem::safetensors {
namespace {

constexpr size_t kDataAlignment = 8;

absl::Status Check(const TensorView& tensor) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", absl::CHexEscape(tensor.name), "': ", why));
  };
  if (tensor.name == kMetadataKey) return refuse("a tensor cannot have that name");
  if (!IsUtf8(tensor.name)) return refuse("its name is not UTF-8");
  if (TensorBytes(tensor.dtype, tensor.shape) == tensor.bytes.size()) return absl::OkStatus();
  return refuse(absl::StrCat(tensor.bytes.size(), " bytes do not fit its dtype '",
                             absl::CHexEscape(tensor.dtype), "' and shape"));
}

absl::Status CheckAll(const std::vector<TensorView>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::set<absl::string_view> names;
  for (const TensorView& tensor : tensors) {
    if (absl::Status status = Check(tensor); !status.ok()) return status;
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", tensor.name, "': there are two of that name"));
    }
  }
  for (const auto& [key, value] : metadata) {
    if (IsUtf8(key) && IsUtf8(value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("metadata '", absl::CHexEscape(key), "' is not UTF-8"));
  }
  return absl::OkStatus();
}

void Sort(std::vector<TensorView>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const TensorView& a, const TensorView& b) {
    const auto a_bytes = ElementBytes(a.dtype), b_bytes = ElementBytes(b.dtype);
    return std::tie(b_bytes, a.name) < std::tie(a_bytes, b.name);
  });
}

// Length and JSON, padded with blanks so that what follows is aligned.
std::string MakeHeader(const std::vector<TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    const uint64_t end = begin + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string json = header.dump();
  json.append(-json.size() % kDataAlignment, ' ');
  char length[kLengthBytes];
  StoreLittleEndian64(json.size(), length);
  return absl::StrCat(absl::string_view(length, kLengthBytes), json);
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, "cannot write tensors");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteSafetensors(int fd, std::vector<TensorView> tensors,
                              const std::map<std::string, std::string>& metadata) {
  absl::Status status = CheckAll(tensors, metadata);
  if (!status.ok()) return status;
  Sort(&tensors);
  status = WriteAll(fd, MakeHeader(tensors, metadata));
  for (const TensorView& tensor : tensors) {
    if (status.ok()) status = WriteAll(fd, tensor.bytes);
  }
  return status;
}

}  // namespace tandem::safetensors
