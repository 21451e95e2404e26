#include "common/spec/reference.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/spec/field_rules.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::vector<std::string> GroupMembers(const FieldDescriptor& field) {
  std::vector<std::string> members;
  const Descriptor& type = *field.containing_type();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& other = *type.field(i);
    const bool together = field.real_containing_oneof() != nullptr
                              ? other.real_containing_oneof() == field.real_containing_oneof()
                              : RuleOf(other).one_of_group() == RuleOf(field).one_of_group();
    if (together) members.push_back(other.name());
  }
  return members;
}

std::string DefaultText(const FieldDescriptor& field) {
  const v1::Rule& rule = RuleOf(field);
  if (rule.required()) return "required";
  if (!rule.default_().empty()) return rule.default_();
  const bool is_choice = field.real_containing_oneof() != nullptr || !rule.one_of_group().empty();
  if (!is_choice) return field.is_repeated() ? "[]" : "";
  const auto members = GroupMembers(field);
  return members.size() == 1 ? "required" : absl::StrCat("exactly one of ", Alternatives(members));
}

std::string TypeOf(const FieldDescriptor& field) {
  return field.is_repeated() ? absl::StrCat("list of ", TypeText(field), "s") : TypeText(field);
}

void AppendKeys(const Descriptor& type, const std::string& parent,
                std::vector<KeyReference>* keys) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const v1::Rule& rule = RuleOf(field);
    if (rule.hidden()) continue;
    const bool is_section = IsSection(field);
    const std::string key = JoinKey(parent, field.name());
    keys->push_back(
        {key, TypeOf(field), DefaultText(field), LimitsText(rule), rule.help(), is_section});
    if (is_section) AppendKeys(*field.message_type(), key, keys);
  }
}

std::string Facts(const KeyReference& key) {
  std::string facts = key.type;
  if (!key.limits.empty()) absl::StrAppend(&facts, ", ", key.limits);
  if (key.default_text.empty()) return facts;
  const bool is_value =
      key.default_text != "required" && !absl::StartsWith(key.default_text, "exactly");
  return absl::StrCat(facts, "; ", is_value ? "default " : "", key.default_text);
}

}  // namespace

std::vector<KeyReference> AllKeys() {
  std::vector<KeyReference> keys;
  AppendKeys(*v1::JobSpec::descriptor(), "", &keys);
  return keys;
}

std::vector<KeyReference> KeysUnder(absl::string_view key) {
  std::vector<KeyReference> keys = AllKeys();
  const std::string below = absl::StrCat(key, ".");
  const auto is_elsewhere = [&](const KeyReference& candidate) {
    return !key.empty() && candidate.key != key && !absl::StartsWith(candidate.key, below);
  };
  keys.erase(std::remove_if(keys.begin(), keys.end(), is_elsewhere), keys.end());
  return keys;
}

std::string ReferenceText(const std::vector<KeyReference>& keys) {
  std::string text;
  for (const KeyReference& key : keys) {
    absl::StrAppend(&text, key.key, "  (", Facts(key), ")\n    ", key.help, "\n");
  }
  return text;
}

}  // namespace tandem::spec
