#include "common/spec/tree_reader.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/spec/field_rules.h"
#include "common/spec/nearest.h"
#include "common/spec/plain_text.h"

namespace tandem::spec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

std::vector<std::string> KeysOf(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    if (!RuleOf(*type.field(i)).hidden()) names.push_back(type.field(i)->name());
  }
  return names;
}

std::string ExpectedKeys(const Descriptor& type) {
  return absl::StrCat("keys (", absl::StrJoin(KeysOf(type), ", "), ")");
}

std::string Found(const YAML::Node& node) {
  if (node.IsMap()) return "keys below it";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return absl::StrCat("'", Excerpt(node.Scalar()), "'");
}

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

}  // namespace

absl::Status ErrorAt(absl::string_view place, absl::string_view key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", key, key.empty() ? "" : ": ", what));
}

std::string PlaceOf(const std::string& file_name, const YAML::Mark& mark) {
  // A position within a setting helps nobody.
  if (mark.is_null() || file_name == kCommandLine) return file_name;
  return absl::StrCat(file_name, ":", mark.line + 1, ":", mark.column + 1);
}

std::string UnknownKey(const std::string& parent, const std::string& word, const Descriptor& type) {
  const auto nearest = NearestWord(word, KeysOf(type));
  if (nearest) return absl::StrCat("unknown key, did you mean ", JoinKey(parent, *nearest), "?");
  return absl::StrCat("unknown key; the keys here are ", absl::StrJoin(KeysOf(type), ", "));
}

absl::Status TreeReader::ReadMessage(const YAML::Node& node, const std::string& key,
                                     Message* message) {
  if (!node.IsMap()) return WrongType(node, key, ExpectedKeys(*message->GetDescriptor()));
  std::set<std::string> seen;
  for (const auto& entry : node) {
    absl::Status status = ReadEntry(entry.first, entry.second, key, &seen, message);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TreeReader::ReadField(const YAML::Node& node, const std::string& key,
                                   const FieldDescriptor& field, Message* message) {
  if (field.is_repeated()) return ReadList(node, key, field, message);
  if (IsSection(field)) {
    return ReadMessage(node, key, message->GetReflection()->MutableMessage(message, &field));
  }
  if (const FieldDescriptor* from = RangeStart(field)) {
    message->GetReflection()->ClearField(message, from);
    if (node.IsMap()) return ReadRange(node, key, *from, field, message);
  }
  return ReadScalar(node, key, field, 0, message);
}

void TreeReader::RememberPlace(const std::string& key, const YAML::Node& node) {
  source_.places[key] = Place(node);
}

std::string TreeReader::Place(const YAML::Node& node) const {
  return fixed_place_.empty() ? PlaceOf(source_.file_name, node.Mark()) : fixed_place_;
}

absl::Status TreeReader::Error(const YAML::Node& node, const std::string& key,
                               absl::string_view what) const {
  return ErrorAt(Place(node), key, what);
}

absl::Status TreeReader::WrongType(const YAML::Node& node, const std::string& key,
                                   absl::string_view expected) const {
  // yaml-cpp puts a value that is not there where the next thing begins.
  const auto& places = source_.places;
  const bool use_key = node.IsNull() && places.count(key) > 0;
  return ErrorAt(use_key ? places.at(key) : Place(node), key,
                 absl::StrCat("expected ", expected, ", found ", Found(node)));
}

absl::Status TreeReader::ReadEntry(const YAML::Node& name, const YAML::Node& value,
                                   const std::string& parent, std::set<std::string>* seen,
                                   Message* message) {
  if (!name.IsScalar()) return WrongType(name, parent, "a word as key");
  const std::string key = JoinKey(parent, Excerpt(name.Scalar()));
  const Descriptor& type = *message->GetDescriptor();
  const FieldDescriptor* field = type.FindFieldByName(name.Scalar());
  if (field == nullptr || RuleOf(*field).hidden()) {
    return Error(name, key, UnknownKey(parent, name.Scalar(), type));
  }
  if (!seen->insert(name.Scalar()).second) {
    return Error(name, key, absl::StrCat("given twice, first at ", source_.places[key]));
  }
  absl::Status alone = CheckAloneInOneof(name, key, *field, *message);
  if (!alone.ok()) return alone;
  RememberPlace(key, name);
  return ReadField(value, key, *field, message);
}

absl::Status TreeReader::CheckAloneInOneof(const YAML::Node& name, const std::string& key,
                                           const FieldDescriptor& field,
                                           const Message& message) const {
  const OneofDescriptor* oneof = field.real_containing_oneof();
  if (oneof == nullptr) return absl::OkStatus();
  const FieldDescriptor* other = message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
  if (other == nullptr || other == &field) return absl::OkStatus();
  return Error(name, key, absl::StrCat("cannot be given together with ", other->name()));
}

absl::Status TreeReader::ReadRange(const YAML::Node& node, const std::string& key,
                                   const FieldDescriptor& from, const FieldDescriptor& to,
                                   Message* message) {
  std::set<std::string> given;
  for (const auto& entry : node) {
    const std::string end = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const std::string name = JoinKey(key, Excerpt(end));
    if (end != "min" && end != "max") {
      return Error(entry.first, name, "unknown key; the keys here are min, max");
    }
    if (!given.insert(end).second) {
      return Error(entry.first, name, absl::StrCat("given twice, first at ", source_.places[name]));
    }
    RememberPlace(name, entry.first);
    if (!entry.second.IsScalar()) return WrongType(entry.second, name, TypeText(from));
    absl::Status status = ReadScalar(entry.second, name, end == "min" ? from : to, 0, message);
    if (!status.ok()) return status;
  }
  if (given.size() == 2) return absl::OkStatus();
  return Error(node, key, "a range needs both min and max");
}

absl::Status TreeReader::ReadAssignments(const YAML::Node& node, const std::string& key,
                                         const FieldDescriptor& field, Message* message) {
  std::set<std::string> given;
  for (const auto& entry : node) {
    const std::string name =
        JoinKey(key, Excerpt(entry.first.IsScalar() ? entry.first.Scalar() : ""));
    if (!entry.first.IsScalar()) return WrongType(entry.first, key, "a name");
    if (!entry.second.IsScalar()) return WrongType(entry.second, name, "text");
    if (!given.insert(entry.first.Scalar()).second) {
      return Error(entry.first, name, absl::StrCat("given twice, first at ", source_.places[name]));
    }
    RememberPlace(name, entry.first);
    message->GetReflection()->AddString(
        message, &field, absl::StrCat(entry.first.Scalar(), "=", entry.second.Scalar()));
  }
  return absl::OkStatus();
}

absl::Status TreeReader::ReadList(const YAML::Node& node, const std::string& key,
                                  const FieldDescriptor& field, Message* message) {
  if (RuleOf(field).assignments() && node.IsMap()) {
    return ReadAssignments(node, key, field, message);
  }
  if (!node.IsSequence()) {
    return WrongType(node, key, absl::StrCat("a list, each a ", TypeText(field)));
  }
  for (size_t i = 0; i < node.size(); ++i) {
    const std::string element = absl::StrCat(key, "[", i, "]");
    RememberPlace(element, node[i]);
    absl::Status status = ReadScalar(node[i], element, field, static_cast<int>(i), message);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TreeReader::ReadScalar(const YAML::Node& node, const std::string& key,
                                    const FieldDescriptor& field, int index, Message* message) {
  if (!node.IsScalar()) return WrongType(node, key, TypeText(field));
  if (IsQuoted(node) && field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    const std::string expected = absl::StrCat(TypeText(field), " without quotes");
    return WrongType(node, key, expected);
  }
  const absl::Status read = SetFromText(node.Scalar(), field, message);
  if (!read.ok()) return Error(node, key, read.message());
  const auto problem = ValueProblem(*message, field, index);
  return problem ? Error(node, key, *problem) : absl::OkStatus();
}

}  // namespace tandem::spec
