#include "common/spec/equivalence_level.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"

namespace tandem::spec {
namespace {

v1::JobSpec Filled(v1::JobSpec spec) {
  FillDefaults(&spec);
  return spec;
}

// Looks at every key there is, so that one which is added later counts without being named here.
std::optional<std::string> FirstUnsafeKey(const v1::JobSpec& spec) {
  v1::JobSpec safe;
  safe.mutable_unsafe();
  safe = Filled(std::move(safe));
  google::protobuf::util::MessageDifferencer differencer;
  const auto& type = *v1::Unsafe::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto* key = type.field(i);
    if (!differencer.CompareWithFields(spec.unsafe(), safe.unsafe(), {key}, {key})) {
      return absl::StrCat("unsafe.", key->name());
    }
  }
  return std::nullopt;
}

}  // namespace

Equivalence EquivalenceOf(const v1::JobSpec& spec) {
  const v1::JobSpec full = Filled(spec);
  if (full.has_command()) {
    return {v1::EQUIVALENCE_LEVEL_SEMANTIC, "command"};
  }
  if (full.has_unsafe()) {
    if (auto key = FirstUnsafeKey(full)) return {v1::EQUIVALENCE_LEVEL_NONE, *std::move(key)};
  }
  if (full.reduction() == v1::REDUCTION_ALLREDUCE) {
    return {v1::EQUIVALENCE_LEVEL_SEMANTIC, "reduction: allreduce"};
  }
  return {v1::EQUIVALENCE_LEVEL_BITWISE, ""};
}

}  // namespace tandem::spec
