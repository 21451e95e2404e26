#include "common/spec/field_rules.h"

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace tandem::spec {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Nobody means more; sums with it stay far from the ends of what a message can hold.
constexpr absl::Duration kLongestDuration = absl::Hours(24 * 365);

// The prefix that proto style puts before each value: "ACTIVATION_" for Activation.
std::string EnumPrefix(const EnumDescriptor& type) {
  std::string prefix;
  for (char letter : type.name()) {
    if (absl::ascii_isupper(letter) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(letter);
  }
  return prefix + '_';
}

std::string UpperLimitText(const v1::Rule& rule) {
  return absl::StrCat(rule.below_max() ? "below " : "", NumberText(rule.max()));
}

// Of a number, as a double: bounds in spec.proto are far below 2^53.
double NumericValue(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection.GetRepeatedInt32(message, &field, index)
                      : reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? reflection.GetRepeatedUInt32(message, &field, index)
                      : reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(repeated ? reflection.GetRepeatedUInt64(message, &field, index)
                                          : reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? reflection.GetRepeatedDouble(message, &field, index)
                      : reflection.GetDouble(message, &field);
    default:
      return 0;
  }
}

const EnumValueDescriptor* EnumValue(const Message& message, const FieldDescriptor& field,
                                     int index) {
  const auto& reflection = *message.GetReflection();
  const int number = field.is_repeated() ? reflection.GetRepeatedEnumValue(message, &field, index)
                                         : reflection.GetEnumValue(message, &field);
  return field.enum_type()->FindValueByNumber(number);
}

std::optional<std::string> NumberProblem(double value, const v1::Rule& rule) {
  const std::string text = NumberText(value);
  if (!std::isfinite(value)) return absl::StrCat(text, " is not a finite number");
  if (rule.has_min() && value < rule.min()) {
    return absl::StrCat(text, " is too small: ", LimitsText(rule));
  }
  if (rule.has_max() && value > rule.max()) {
    return absl::StrCat(text, " is too large: ", LimitsText(rule));
  }
  const bool on_open_end =
      (rule.above_min() && value == rule.min()) || (rule.below_max() && value == rule.max());
  if (on_open_end) return absl::StrCat(text, " is not allowed: ", LimitsText(rule));
  return std::nullopt;
}

bool IsDuration(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() == google::protobuf::Duration::descriptor();
}

// Any there can be, also one that a client made up: it ends at infinity instead of overflowing.
absl::Duration DurationValue(const Message& message, const FieldDescriptor& field) {
  const auto& value = static_cast<const google::protobuf::Duration&>(
      message.GetReflection()->GetMessage(message, &field));
  return absl::Seconds(value.seconds()) + absl::Nanoseconds(value.nanos());
}

absl::Duration ShortestDuration(const v1::Rule& rule) {
  absl::Duration shortest = absl::ZeroDuration();
  // A test reads every bound there is, so this cannot fail.
  if (!rule.min_duration().empty()) absl::ParseDuration(rule.min_duration(), &shortest);
  return shortest;
}

std::optional<std::string> DurationProblem(absl::Duration value, const v1::Rule& rule) {
  const std::string text = absl::FormatDuration(value);
  if (value > kLongestDuration) {
    return absl::StrCat(text, " is too long: at most ", absl::FormatDuration(kLongestDuration));
  }
  const absl::Duration shortest = ShortestDuration(rule);
  if (value >= shortest) return std::nullopt;
  return absl::StrCat(text, " is too short: at least ", absl::FormatDuration(shortest));
}

}  // namespace

const v1::Rule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::rule);
}

bool IsSection(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field);
}

const FieldDescriptor* Excluder(const FieldDescriptor& field) {
  const std::string& name = RuleOf(field).not_with();
  return name.empty() ? nullptr : field.containing_type()->FindFieldByName(name);
}

const FieldDescriptor* RangeStart(const FieldDescriptor& field) {
  const std::string& name = RuleOf(field).range_from();
  return name.empty() ? nullptr : field.containing_type()->FindFieldByName(name);
}

std::string KeyName(const FieldDescriptor& field) {
  const auto& type = *field.containing_type();
  for (int i = 0; i < type.field_count(); ++i) {
    if (RangeStart(*type.field(i)) == &field) return absl::StrCat(type.field(i)->name(), ".min");
  }
  return field.name();
}

std::string EnumText(const EnumValueDescriptor& value) {
  return absl::AsciiStrToLower(value.name().substr(EnumPrefix(*value.type()).size()));
}

std::vector<std::string> EnumTexts(const EnumDescriptor& type) {
  std::vector<std::string> texts;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) texts.push_back(EnumText(*type.value(i)));
  }
  return texts;
}

std::string TypeText(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return IsDuration(field) ? "duration, such as 500ms, 2s or 1m" : "section";
    case FieldDescriptor::CPPTYPE_STRING:
      if (RuleOf(field).assignments()) return "NAME=VALUE";
      return RuleOf(field).path() ? "path" : "text";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return Alternatives(EnumTexts(*field.enum_type()));
    default:
      return RangeStart(field) == nullptr ? "whole number" : "whole number or {min, max}";
  }
}

std::string LimitsText(const v1::Rule& rule) {
  if (rule.has_min() && rule.has_max()) {
    return absl::StrCat(rule.above_min() ? "above " : "from ", NumberText(rule.min()),
                        rule.above_min() ? " and " : " to ", UpperLimitText(rule));
  }
  if (rule.has_min()) {
    return absl::StrCat(rule.above_min() ? "greater than " : "at least ", NumberText(rule.min()));
  }
  if (rule.has_max()) {
    return absl::StrCat(rule.below_max() ? "less than " : "at most ", NumberText(rule.max()));
  }
  if (!rule.min_duration().empty()) return absl::StrCat("at least ", rule.min_duration());
  return "";
}

std::string NumberText(double value) {
  constexpr double kExactIntegers = 1e15;
  if (std::abs(value) < kExactIntegers && value == std::trunc(value) && !std::signbit(value)) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

std::string Alternatives(const std::vector<std::string>& words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

std::string JoinKey(absl::string_view parent, absl::string_view name) {
  return parent.empty() ? std::string(name) : absl::StrCat(parent, ".", name);
}

std::optional<std::string> ValueProblem(const Message& message, const FieldDescriptor& field,
                                        int index) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = EnumValue(message, field, index);
      if (value != nullptr && value->number() != 0) return std::nullopt;
      return absl::StrCat("unknown value: expected ", TypeText(field));
    }
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_BOOL:
      return std::nullopt;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return IsDuration(field) ? DurationProblem(DurationValue(message, field), RuleOf(field))
                               : std::nullopt;
    default:
      return NumberProblem(NumericValue(message, field, index), RuleOf(field));
  }
}

std::string ValueText(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? reflection.GetRepeatedString(message, &field, index)
                                 : reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = EnumValue(message, field, index);
      return value == nullptr ? "" : EnumText(*value);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::FormatDuration(DurationValue(message, field));
    default:
      return NumberText(NumericValue(message, field, index));
  }
}

}  // namespace tandem::spec
