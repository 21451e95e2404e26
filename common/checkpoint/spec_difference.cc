#include "common/checkpoint/spec_difference.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/spec/field_rules.h"

namespace tandem::checkpoint {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

constexpr const char* kNothing = "nothing";

// A message under the key at which it stands; empty for the whole specification.
std::optional<SpecDifference> Compare(const std::string& key, const Message& first,
                                      const Message& second);

std::string ListText(const Message& message, const FieldDescriptor& field) {
  std::vector<std::string> elements;
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) elements.push_back(spec::ValueText(message, field, i));
  return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
}

std::string Text(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated()) return ListText(message, field);
  const bool left_out = field.has_presence() && !message.GetReflection()->HasField(message, &field);
  return left_out ? kNothing : spec::ValueText(message, field, 0);
}

std::string ChosenIn(const Message& message, const OneofDescriptor& choice) {
  const FieldDescriptor* chosen =
      message.GetReflection()->GetOneofFieldDescriptor(message, &choice);
  return chosen == nullptr ? kNothing : chosen->name();
}

std::optional<SpecDifference> CompareChoices(const std::string& key, const Message& first,
                                             const Message& second) {
  const auto& type = *first.GetDescriptor();
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
    const OneofDescriptor& choice = *type.oneof_decl(i);
    const std::string in_first = ChosenIn(first, choice), in_second = ChosenIn(second, choice);
    if (in_first != in_second) return SpecDifference{key, in_first, in_second};
  }
  return std::nullopt;
}

std::optional<SpecDifference> CompareSections(const std::string& key, const FieldDescriptor& field,
                                              const Message& first, const Message& second) {
  const auto& reflection = *first.GetReflection();
  const bool in_first = reflection.HasField(first, &field);
  const bool in_second = reflection.HasField(second, &field);
  if (!in_first && !in_second) return std::nullopt;
  if (in_first != in_second) {
    return SpecDifference{key, in_first ? "a section" : kNothing,
                          in_second ? "a section" : kNothing};
  }
  return Compare(key, reflection.GetMessage(first, &field), reflection.GetMessage(second, &field));
}

std::optional<SpecDifference> CompareValues(const std::string& key, const FieldDescriptor& field,
                                            const Message& first, const Message& second) {
  // The text of a number is the shortest that reads back as the same: equal text, equal number.
  SpecDifference values = {key, Text(first, field), Text(second, field)};
  if (values.first == values.second) return std::nullopt;
  return values;
}

std::optional<SpecDifference> Compare(const std::string& key, const Message& first,
                                      const Message& second) {
  if (auto difference = CompareChoices(key, first, second)) return difference;
  const auto& type = *first.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = spec::JoinKey(key, spec::KeyName(field));
    const bool section = spec::IsSection(field);
    auto difference = section ? CompareSections(name, field, first, second)
                              : CompareValues(name, field, first, second);
    if (difference) return difference;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpecDifference> FirstDifference(const Message& first, const Message& second) {
  return Compare("", first, second);
}

}  // namespace tandem::checkpoint
