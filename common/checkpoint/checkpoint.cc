#include "common/checkpoint/checkpoint.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/content_digest.h"

namespace tandem::checkpoint {
namespace {

constexpr const char* kManifestKey = "tandem";
constexpr const char* kDigestKey = "tandem.sha256";

std::string ToJson(const v1::CheckpointManifest& manifest) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;  // as they are in a specification
  std::string json;
  // Fails only on Any messages of unknown type; Tandem has none.
  (void)google::protobuf::util::MessageToJsonString(manifest, &json, options);
  return json;
}

absl::StatusOr<v1::CheckpointManifest> FromJson(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  // Of a newer version: its build is another one as well, which a job that resumes is refused for.
  options.ignore_unknown_fields = true;
  v1::CheckpointManifest manifest;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &manifest, options);
  if (parsed.ok()) return manifest;
  return absl::DataLossError(
      absl::StrCat("its manifest cannot be read: ", std::string(parsed.message())));
}

absl::StatusOr<v1::CheckpointManifest> ReadManifest(const safetensors::SafetensorsFile& file) {
  const auto json = file.metadata().find(kManifestKey);
  const auto digest = file.metadata().find(kDigestKey);
  if (json == file.metadata().end() || digest == file.metadata().end()) {
    return absl::InvalidArgumentError(absl::StrCat("is no checkpoint of Tandem: there is no '",
                                                   kManifestKey, "' in its metadata"));
  }
  if (ContentDigest(json->second, ViewsOf(file)) != digest->second) {
    return absl::DataLossError("was damaged: it does not have the digest it was written with");
  }
  return FromJson(json->second);
}

}  // namespace

absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& path) {
  auto file = safetensors::SafetensorsFile::Open(path);
  if (!file.ok()) return file.status();
  auto manifest = ReadManifest(*file);
  if (!manifest.ok()) {
    return absl::Status(manifest.status().code(),
                        absl::StrCat(path, ": ", manifest.status().message()));
  }
  return Checkpoint{path, *std::move(manifest), *std::move(file)};
}

absl::Status WriteCheckpoint(int fd, const v1::CheckpointManifest& manifest,
                             std::vector<safetensors::TensorView> tensors) {
  const std::string json = ToJson(manifest);
  const std::string digest = ContentDigest(json, tensors);
  return safetensors::WriteSafetensors(fd, std::move(tensors),
                                       {{kManifestKey, json}, {kDigestKey, digest}});
}

}  // namespace tandem::checkpoint
