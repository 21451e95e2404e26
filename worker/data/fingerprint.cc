#include "worker/data/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/sha256.h"
#include "common/spec/paths.h"

namespace tandem::data {

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 sha256;
  sha256.AddBytes(bytes.data(), bytes.size());
  return HexOf(sha256.Finish());
}

std::string FingerprintOf(const v1::Data& data, const std::vector<std::string>& file_digests) {
  v1::Data keys = data;
  keys.clear_shuffle();
  keys.clear_drop_last();
  keys.clear_loader_threads();
  keys.clear_prefetch();
  spec::ClearPaths(&keys);
  return Sha256Hex(absl::StrCat(keys.SerializeAsString(), "\n", absl::StrJoin(file_digests, "\n")));
}

}  // namespace tandem::data
