#include "common/spec/yaml_writer.h"

#include <yaml-cpp/yaml.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/spec/field_rules.h"

namespace tandem::spec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Emit(const Message& message, YAML::Emitter* out);

void EmitList(const Message& message, const FieldDescriptor& field, YAML::Emitter* out) {
  *out << YAML::Flow << YAML::BeginSeq;
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) *out << ValueText(message, field, i);
  *out << YAML::EndSeq;
}

void EmitField(const Message& message, const FieldDescriptor& field, YAML::Emitter* out) {
  *out << YAML::Key << field.name() << YAML::Value;
  if (field.is_repeated()) return EmitList(message, field, out);
  if (IsSection(field)) {
    return Emit(message.GetReflection()->GetMessage(message, &field), out);
  }
  const FieldDescriptor* from = RangeStart(field);
  if (from != nullptr && message.GetReflection()->HasField(message, from)) {
    *out << YAML::Flow << YAML::BeginMap << YAML::Key << "min" << YAML::Value
         << ValueText(message, *from, 0) << YAML::Key << "max" << YAML::Value
         << ValueText(message, field, 0) << YAML::EndMap;
    return;
  }
  *out << ValueText(message, field, 0);
}

void Emit(const Message& message, YAML::Emitter* out) {
  *out << YAML::BeginMap;
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!RuleOf(*field).hidden()) EmitField(message, *field, out);
  }
  *out << YAML::EndMap;
}

}  // namespace

std::string WriteYaml(const v1::JobSpec& spec) {
  YAML::Emitter out;
  Emit(spec, &out);
  return absl::StrCat(out.c_str(), "\n");
}

}  // namespace tandem::spec
