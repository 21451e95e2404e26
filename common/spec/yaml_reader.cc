#include "common/spec/yaml_reader.h"

#include <yaml-cpp/yaml.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/spec/field_rules.h"
#include "common/spec/plain_text.h"
#include "common/spec/spec.h"
#include "common/spec/tree_reader.h"

namespace tandem::spec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

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

absl::Status NoKeysBelow(const std::string& key, const FieldDescriptor& field) {
  if (RangeStart(field) == nullptr) return ErrorAt(kCommandLine, key, "has no keys below it");
  return ErrorAt(kCommandLine, key, "is set as a whole, as in workers={min: 1, max: 4}");
}

bool IsSingleText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field.is_repeated();
}

// A text may look like anything: what is no scalar of YAML is meant as it stands there.
YAML::Node LoadValue(const std::string& text, const FieldDescriptor& field) {
  if (!IsSingleText(field)) return YAML::Load(text);
  try {
    const YAML::Node value = YAML::Load(text);
    if (value.IsScalar()) return value;
  } catch (const YAML::Exception&) {
  }
  return YAML::Node(text);
}

absl::Status SetByPath(const std::string& path, const std::string& text, SpecSource* source) {
  Message* message = &source->spec;
  std::string key;
  const std::vector<std::string> words = absl::StrSplit(path, '.');
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string parent = key;
    key = JoinKey(parent, Excerpt(words[i]));
    const Descriptor& type = *message->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(words[i]);
    if (field == nullptr || RuleOf(*field).hidden()) {
      return ErrorAt(kCommandLine, key, UnknownKey(parent, words[i], type));
    }
    if (i + 1 < words.size()) {
      if (!IsSection(*field)) return NoKeysBelow(key, *field);
      message = message->GetReflection()->MutableMessage(message, field);
      continue;
    }
    ClearGroupOf(*field, message);
    message->GetReflection()->ClearField(message, field);
    TreeReader reader(source, kCommandLine);
    const YAML::Node value = LoadValue(text, *field);
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
  absl::Status is_text = CheckText(text, file_name);
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
  absl::Status is_text = CheckText(assignment, kCommandLine);
  if (!is_text.ok()) return is_text;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  if (assignment.find('=') == absl::string_view::npos) {
    return ErrorAt(kCommandLine, parts.first, "expected key=value, as in optimizer.adamw.lr=0.01");
  }
  return CatchYamlErrors(kCommandLine,
                         [&] { return SetByPath(parts.first, parts.second, source); });
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
