#include "common/spec/yaml_reader.h"

#include <yaml-cpp/yaml.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/spec/field_rules.h"
#include "common/spec/nearest.h"
#include "common/spec/plain_text.h"
#include "common/spec/spec.h"

namespace tandem::spec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

constexpr const char* kCommandLine = "command line";

absl::Status ErrorAt(absl::string_view place, absl::string_view key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", key, key.empty() ? "" : ": ", what));
}

std::string PlaceOf(const std::string& file_name, const YAML::Mark& mark) {
  // A position within a setting helps nobody.
  if (mark.is_null() || file_name == kCommandLine) return file_name;
  return absl::StrCat(file_name, ":", mark.line + 1, ":", mark.column + 1);
}

std::vector<std::string> KeysOf(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

std::string UnknownKey(const std::string& parent, const std::string& word, const Descriptor& type) {
  const auto nearest = NearestWord(word, KeysOf(type));
  if (nearest) return absl::StrCat("unknown key, did you mean ", JoinKey(parent, *nearest), "?");
  return absl::StrCat("unknown key; the keys here are ", absl::StrJoin(KeysOf(type), ", "));
}

std::string Found(const YAML::Node& node) {
  if (node.IsMap()) return "keys below it";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return absl::StrCat("'", Excerpt(node.Scalar()), "'");
}

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

// Walks a YAML tree and the message it describes side by side. The depth is that of the message
// type, and no value of it can be reached twice by an alias without an error, so a small file stays
// small work.
class TreeReader {
 public:
  // With `fixed_place`, everything is said to stand there.
  TreeReader(SpecSource* source, std::string fixed_place)
      : source_(*source), fixed_place_(std::move(fixed_place)) {}

  absl::Status ReadMessage(const YAML::Node& node, const std::string& key, Message* message) {
    if (!node.IsMap()) return WrongType(node, key, ExpectedKeys(*message->GetDescriptor()));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const absl::Status status = ReadEntry(entry.first, entry.second, key, &seen, message);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadField(const YAML::Node& node, const std::string& key,
                         const FieldDescriptor& field, Message* message) {
    if (field.is_repeated()) return ReadList(node, key, field, message);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return ReadMessage(node, key, message->GetReflection()->MutableMessage(message, &field));
    }
    return ReadScalar(node, key, field, 0, message);
  }

  void RememberPlace(const std::string& key, const YAML::Node& node) {
    source_.places[key] = Place(node);
  }

 private:
  static std::string ExpectedKeys(const Descriptor& type) {
    return absl::StrCat("keys (", absl::StrJoin(KeysOf(type), ", "), ")");
  }

  std::string Place(const YAML::Node& node) const {
    return fixed_place_.empty() ? PlaceOf(source_.file_name, node.Mark()) : fixed_place_;
  }

  absl::Status Error(const YAML::Node& node, const std::string& key, absl::string_view what) const {
    return ErrorAt(Place(node), key, what);
  }

  absl::Status WrongType(const YAML::Node& node, const std::string& key,
                         absl::string_view expected) const {
    // yaml-cpp puts a value that is not there where the next thing begins.
    const auto& places = source_.places;
    const bool use_key = node.IsNull() && places.count(key) > 0;
    return ErrorAt(use_key ? places.at(key) : Place(node), key,
                   absl::StrCat("expected ", expected, ", found ", Found(node)));
  }

  absl::Status ReadEntry(const YAML::Node& name, const YAML::Node& value, const std::string& parent,
                         std::set<std::string>* seen, Message* message) {
    if (!name.IsScalar()) return WrongType(name, parent, "a word as key");
    const std::string key = JoinKey(parent, Excerpt(name.Scalar()));
    const Descriptor& type = *message->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(name.Scalar());
    if (field == nullptr) return Error(name, key, UnknownKey(parent, name.Scalar(), type));
    if (!seen->insert(name.Scalar()).second) {
      return Error(name, key, absl::StrCat("given twice, first at ", source_.places[key]));
    }
    const absl::Status alone = CheckAloneInOneof(name, key, *field, *message);
    if (!alone.ok()) return alone;
    RememberPlace(key, name);
    return ReadField(value, key, *field, message);
  }

  absl::Status CheckAloneInOneof(const YAML::Node& name, const std::string& key,
                                 const FieldDescriptor& field, const Message& message) const {
    const OneofDescriptor* oneof = field.real_containing_oneof();
    if (oneof == nullptr) return absl::OkStatus();
    const FieldDescriptor* other = message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
    if (other == nullptr || other == &field) return absl::OkStatus();
    return Error(name, key, absl::StrCat("cannot be given together with ", other->name()));
  }

  absl::Status ReadList(const YAML::Node& node, const std::string& key,
                        const FieldDescriptor& field, Message* message) {
    if (!node.IsSequence()) {
      return WrongType(node, key, absl::StrCat("a list, each a ", TypeText(field)));
    }
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string element = absl::StrCat(key, "[", i, "]");
      RememberPlace(element, node[i]);
      const absl::Status status = ReadScalar(node[i], element, field, static_cast<int>(i), message);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadScalar(const YAML::Node& node, const std::string& key,
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

  SpecSource& source_;
  const std::string fixed_place_;
};

absl::Status CheckText(absl::string_view text, const std::string& file_name) {
  if (text.size() > kMaxSpecBytes) {
    return ErrorAt(file_name, "", absl::StrCat("longer than ", kMaxSpecBytes, " bytes"));
  }
  const auto odd = FirstByteThatIsNotText(text);
  if (!odd) return absl::OkStatus();
  return ErrorAt(file_name, "", absl::StrCat("not a text file: see byte ", *odd + 1));
}

absl::StatusOr<YAML::Node> LoadOneDocument(absl::string_view text, const std::string& file_name) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
  if (documents.empty() || (documents.size() == 1 && documents[0].IsNull())) {
    return ErrorAt(file_name, "", "empty: expected the keys of a job");
  }
  if (documents.size() == 1) return documents[0];
  return ErrorAt(PlaceOf(file_name, documents[1].Mark()), "",
                 "a second document starts here; a job is one");
}

// yaml-cpp reports by throwing; nothing of it leaves this file.
template <typename Function>
absl::Status CatchYamlErrors(const std::string& file_name, Function function) {
  try {
    return function();
  } catch (const YAML::Exception& error) {
    return ErrorAt(PlaceOf(file_name, error.mark), "", absl::StrCat("not YAML: ", error.msg));
  }
}

void ClearGroupOf(const FieldDescriptor& field, Message* message) {
  const std::string& group = RuleOf(field).one_of_group();
  if (group.empty()) return;
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* other = message->GetDescriptor()->field(i);
    if (RuleOf(*other).one_of_group() == group) {
      message->GetReflection()->ClearField(message, other);
    }
  }
}

absl::Status SetByPath(const std::string& path, const YAML::Node& value, SpecSource* source) {
  Message* message = &source->spec;
  std::string key;
  const std::vector<std::string> words = absl::StrSplit(path, '.');
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string parent = key;
    key = JoinKey(parent, Excerpt(words[i]));
    const Descriptor& type = *message->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(words[i]);
    if (field == nullptr) return ErrorAt(kCommandLine, key, UnknownKey(parent, words[i], type));
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (i + 1 < words.size()) {
      if (!is_message) return ErrorAt(kCommandLine, key, "has no keys below it");
      message = message->GetReflection()->MutableMessage(message, field);
      continue;
    }
    ClearGroupOf(*field, message);
    message->GetReflection()->ClearField(message, field);
    TreeReader reader(source, kCommandLine);
    reader.RememberPlace(key, value);
    return reader.ReadField(value, key, *field, message);
  }
  return absl::OkStatus();
}

std::string NearestPlace(const SpecSource& source, std::string key) {
  while (!key.empty()) {
    const auto found = source.places.find(key);
    if (found != source.places.end()) return found->second;
    const size_t end = key.find_last_of(".[");
    key.resize(end == std::string::npos ? 0 : end);
  }
  return source.file_name;
}

}  // namespace

absl::StatusOr<SpecSource> ParseYaml(absl::string_view text, const std::string& file_name) {
  const absl::Status is_text = CheckText(text, file_name);
  if (!is_text.ok()) return is_text;
  SpecSource source;
  source.file_name = file_name;
  const absl::Status status = CatchYamlErrors(file_name, [&]() -> absl::Status {
    const auto document = LoadOneDocument(text, file_name);
    if (!document.ok()) return document.status();
    return TreeReader(&source, "").ReadMessage(*document, "", &source.spec);
  });
  if (!status.ok()) return status;
  return source;
}

absl::Status ApplySetting(absl::string_view assignment, SpecSource* source) {
  const absl::Status is_text = CheckText(assignment, kCommandLine);
  if (!is_text.ok()) return is_text;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  if (assignment.find('=') == absl::string_view::npos) {
    return ErrorAt(kCommandLine, parts.first, "expected key=value, as in optimizer.adamw.lr=0.01");
  }
  return CatchYamlErrors(kCommandLine,
                         [&] { return SetByPath(parts.first, YAML::Load(parts.second), source); });
}

absl::Status Check(const SpecSource& source) {
  const auto broken = FindViolation(source.spec);
  if (!broken) return absl::OkStatus();
  return ErrorAt(NearestPlace(source, broken->key), "", broken->message);
}

absl::StatusOr<v1::JobSpec> ReadYaml(absl::string_view text, const std::string& file_name) {
  auto source = ParseYaml(text, file_name);
  if (!source.ok()) return source.status();
  const absl::Status valid = Check(*source);
  if (!valid.ok()) return valid;
  return std::move(source->spec);
}

}  // namespace tandem::spec
