// How a scalar is read from text: strictly, because a value that is read in another sense than its
// author's trains another model.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/proto_time.h"
#include "common/spec/field_rules.h"
#include "common/spec/nearest.h"
#include "common/spec/plain_text.h"

namespace tandem::spec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Quoted(absl::string_view text) {
  return text.empty() ? "nothing" : absl::StrCat("'", Excerpt(text), "'");
}

absl::Status Mismatch(absl::string_view expected, absl::string_view found,
                      absl::string_view hint = "") {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", expected, ", found ", Quoted(found), hint));
}

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Digits with an optional '-', and no leading zero, which some read as octal.
bool IsWholeNumber(absl::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return IsDigits(text) && (text.size() == 1 || text.front() != '0');
}

// " (write 1000)" where it is plain which whole number was meant: "1e3", "1_000", "+7", "007".
std::string WholeNumberHint(absl::string_view text) {
  double value = 0;
  const std::string plain = absl::StrReplaceAll(text, {{"_", ""}});
  constexpr double kExactIntegers = 1e15;
  if (!absl::SimpleAtod(plain, &value) || std::abs(value) >= kExactIntegers) return "";
  if (value != std::trunc(value)) return "";
  return absl::StrCat(" (write ", static_cast<int64_t>(value), ")");
}

// What is asked for where a negative number cannot even be stored.
std::string NotNegative(const v1::Rule& rule) {
  return absl::StrCat("a whole number, ", rule.has_min() ? LimitsText(rule) : "at least 0");
}

template <typename Integer>
absl::StatusOr<Integer> ParseInteger(absl::string_view text, const v1::Rule& rule) {
  constexpr bool kUnsigned = std::numeric_limits<Integer>::min() == 0;
  if (!IsWholeNumber(text)) return Mismatch("a whole number", text, WholeNumberHint(text));
  if (kUnsigned && text.front() == '-') return Mismatch(NotNegative(rule), text);
  Integer value;
  if (absl::SimpleAtoi(text, &value)) return value;
  return Mismatch(absl::StrCat("a whole number from ", std::numeric_limits<Integer>::min(), " to ",
                               std::numeric_limits<Integer>::max()),
                  text);
}

absl::StatusOr<double> ParseDouble(absl::string_view text) {
  double value = 0;
  const bool plain = text.find_first_not_of("0123456789+-.eE") == absl::string_view::npos;
  if (!plain || !absl::SimpleAtod(text, &value)) return Mismatch("a number", text);
  if (!std::isfinite(value)) return Mismatch("a number that a double can hold", text);
  return value;
}

absl::StatusOr<bool> ParseBool(absl::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return Mismatch("true or false", text);
}

absl::StatusOr<int> ParseEnum(absl::string_view text, const FieldDescriptor& field) {
  const auto& type = *field.enum_type();
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& value = *type.value(i);
    if (value.number() != 0 && EnumText(value) == text) return value.number();
  }
  const auto nearest = NearestWord(text, EnumTexts(type));
  return Mismatch(TypeText(field), text,
                  nearest ? absl::StrCat(" (did you mean ", *nearest, "?)") : "");
}

absl::Status StoreDuration(absl::string_view text, const FieldDescriptor& field, Message* message) {
  absl::Duration value;
  const bool fits = absl::ParseDuration(text, &value) && value >= absl::ZeroDuration();
  // An infinite one has no place in a message.
  if (!fits || value == absl::InfiniteDuration())
    return Mismatch(absl::StrCat("a ", TypeText(field)), text);
  *static_cast<google::protobuf::Duration*>(
      message->GetReflection()->MutableMessage(message, &field)) = ToProto(value);
  return absl::OkStatus();
}

// Sets or adds, by whether the field is repeated.
template <typename Value>
absl::Status Store(const absl::StatusOr<Value>& value, const FieldDescriptor& field,
                   Message* message,
                   void (Reflection::*set)(Message*, const FieldDescriptor*, Value) const,
                   void (Reflection::*add)(Message*, const FieldDescriptor*, Value) const) {
  if (!value.ok()) return value.status();
  (message->GetReflection()->*(field.is_repeated() ? add : set))(message, &field, *value);
  return absl::OkStatus();
}

}  // namespace

absl::Status SetFromText(absl::string_view text, const FieldDescriptor& field, Message* message) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Store(ParseInteger<int32_t>(text, RuleOf(field)), field, message,
                   &Reflection::SetInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Store(ParseInteger<uint32_t>(text, RuleOf(field)), field, message,
                   &Reflection::SetUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Store(ParseInteger<uint64_t>(text, RuleOf(field)), field, message,
                   &Reflection::SetUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Store(ParseDouble(text), field, message, &Reflection::SetDouble,
                   &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return Store(ParseBool(text), field, message, &Reflection::SetBool, &Reflection::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Store(ParseEnum(text, field), field, message, &Reflection::SetEnumValue,
                   &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      return Store(absl::StatusOr<std::string>(std::string(text)), field, message,
                   &Reflection::SetString, &Reflection::AddString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!IsSection(field)) return StoreDuration(text, field, message);
      [[fallthrough]];
    default:
      return absl::InternalError(
          absl::StrCat(field.full_name(), " has a type that cannot be read"));
  }
}

}  // namespace tandem::spec
