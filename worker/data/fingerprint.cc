#include "worker/data/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/sha256.h"
#include "tandem/v1/options.pb.h"

namespace tandem::data {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void ClearPaths(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  const auto& reflection = *message->GetReflection();
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->options().GetExtension(v1::rule).path()) {
      reflection.ClearField(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ClearPaths(reflection.MutableMessage(message, field));
    }
  }
}

}  // namespace

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
  ClearPaths(&keys);
  return Sha256Hex(absl::StrCat(keys.SerializeAsString(), "\n", absl::StrJoin(file_digests, "\n")));
}

}  // namespace tandem::data
