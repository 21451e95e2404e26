#include "common/spec/spec.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/spec/cross_rules.h"
#include "common/spec/field_rules.h"

namespace tandem::spec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

constexpr const char* kWhole = "the specification";

std::optional<Violation> CheckMessage(const Message& message, const std::string& key);

Violation Broken(const std::string& key, absl::string_view what) {
  return {key, absl::StrCat(key.empty() ? kWhole : key, ": ", what)};
}

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    fields.push_back(message.GetDescriptor()->field(i));
  }
  return fields;
}

bool IsGiven(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                             : reflection.HasField(message, &field);
}

// Another key that is given leaves none of these any meaning.
bool IsExcluded(const Message& message, const FieldDescriptor& field) {
  const FieldDescriptor* excluder = Excluder(field);
  return excluder != nullptr && IsGiven(message, *excluder);
}

std::optional<Violation> MissingKey(const FieldDescriptor& field, const std::string& key) {
  const std::string limits = LimitsText(RuleOf(field));
  return Broken(key,
                absl::StrCat("required: ", TypeText(field), limits.empty() ? "" : " ", limits));
}

std::optional<Violation> CheckElements(const Message& message, const FieldDescriptor& field,
                                       const std::string& key) {
  const int count = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (auto problem = ValueProblem(message, field, i)) {
      return Broken(field.is_repeated() ? absl::StrCat(key, "[", i, "]") : key, *problem);
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckField(const Message& message, const FieldDescriptor& field,
                                    const std::string& key) {
  const bool is_excluded = IsExcluded(message, field);
  if (!IsGiven(message, field)) {
    return RuleOf(field).required() && !is_excluded ? MissingKey(field, key) : std::nullopt;
  }
  if (is_excluded) {
    return Broken(key, absl::StrCat("cannot be given together with ", RuleOf(field).not_with()));
  }
  if (IsSection(field)) {
    return CheckMessage(message.GetReflection()->GetMessage(message, &field), key);
  }
  return CheckElements(message, field, key);
}

// Exactly one of the fields that share the group of `first`, its first member.
std::optional<Violation> CheckGroup(const Message& message, const FieldDescriptor& first,
                                    const std::string& key) {
  std::vector<std::string> members;
  std::vector<std::string> given;
  for (const FieldDescriptor* field : FieldsOf(message)) {
    if (RuleOf(*field).one_of_group() != RuleOf(first).one_of_group()) continue;
    members.push_back(JoinKey(key, field->name()));
    if (IsGiven(message, *field)) given.push_back(members.back());
  }
  if (given.size() == 1) return std::nullopt;
  return Violation{given.empty() ? key : given.back(),
                   absl::StrCat(absl::StrJoin(members, ", "), ": give exactly one")};
}

std::optional<Violation> CheckGroups(const Message& message, const std::string& key) {
  std::string previous;
  for (const FieldDescriptor* field : FieldsOf(message)) {
    const std::string& group = RuleOf(*field).one_of_group();
    if (group.empty() || group == previous || IsExcluded(message, *field)) continue;
    if (auto broken = CheckGroup(message, *field, key)) return broken;
    previous = group;
  }
  return std::nullopt;
}

std::optional<Violation> CheckOneofs(const Message& message, const std::string& key) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
    const OneofDescriptor& oneof = *type.oneof_decl(i);
    if (message.GetReflection()->HasOneof(message, &oneof)) continue;
    std::vector<std::string> kinds;
    for (int k = 0; k < oneof.field_count(); ++k) kinds.push_back(oneof.field(k)->name());
    return Broken(key, absl::StrCat("required: ", Alternatives(kinds)));
  }
  return std::nullopt;
}

std::optional<Violation> CheckMessage(const Message& message, const std::string& key) {
  // What a newer client asks for must not be ignored: it may change the result.
  if (!message.GetReflection()->GetUnknownFields(message).empty()) {
    return Broken(key, "has keys that this version of Tandem does not know; upgrade it");
  }
  for (const FieldDescriptor* field : FieldsOf(message)) {
    if (auto broken = CheckField(message, *field, JoinKey(key, KeyName(*field)))) return broken;
  }
  if (auto broken = CheckGroups(message, key)) return broken;
  return CheckOneofs(message, key);
}

void FillMessage(Message* message) {
  const auto& reflection = *message->GetReflection();
  for (const FieldDescriptor* field : FieldsOf(*message)) {
    const bool given = IsGiven(*message, *field);
    if (IsSection(*field) && given) FillMessage(reflection.MutableMessage(message, field));
    // A test reads every default there is, so this cannot fail.
    const std::string& text = RuleOf(*field).default_();
    const bool fills = !given && !text.empty() && !IsExcluded(*message, *field);
    if (fills) SetFromText(text, *field, message).IgnoreError();
  }
}

}  // namespace

std::optional<Violation> FindViolation(const v1::JobSpec& spec) {
  if (auto broken = CheckMessage(spec, "")) return broken;
  v1::JobSpec full = spec;
  FillDefaults(&full);
  for (const CrossRule& rule : CrossRules()) {
    if (auto broken = rule.check(full)) return broken;
  }
  return std::nullopt;
}

absl::Status Validate(const v1::JobSpec& spec) {
  const auto broken = FindViolation(spec);
  return broken ? absl::InvalidArgumentError(broken->message) : absl::OkStatus();
}

void FillDefaults(v1::JobSpec* spec) {
  spec->mutable_restart();  // Left out, it is as if it were empty.
  FillMessage(spec);
  if (!spec->has_logical_ranks()) spec->set_logical_ranks(DefaultLogicalRanks(spec->workers()));
}

}  // namespace tandem::spec
