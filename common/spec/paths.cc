#include "common/spec/paths.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/spec/field_rules.h"

namespace tandem::spec {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Replaces each path that is given by what `replacement` makes of its key and itself.
void ReplacePaths(
    const std::string& key, Message* message,
    absl::FunctionRef<std::string(const std::string&, const std::string&)> replacement) {
  std::vector<const FieldDescriptor*> fields;
  const auto& reflection = *message->GetReflection();
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = JoinKey(key, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ReplacePaths(name, reflection.MutableMessage(message, field), replacement);
    } else if (RuleOf(*field).path()) {
      const std::string path = reflection.GetString(*message, field);
      reflection.SetString(message, field, replacement(name, path));
    }
  }
}

}  // namespace

void ResolvePaths(const std::string& folder, v1::JobSpec* spec) {
  std::error_code error;
  const auto start = std::filesystem::current_path(error) / folder;
  ReplacePaths("", spec, [&](const std::string&, const std::string& path) {
    return (start / path).lexically_normal().string();
  });
}

absl::Status CheckPathsAreAbsolute(const v1::JobSpec& spec) {
  absl::Status status;
  v1::JobSpec copy = spec;
  ReplacePaths("", &copy, [&](const std::string& key, const std::string& path) {
    if (!std::filesystem::path(path).is_absolute()) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat(key, ": must be absolute; the client resolves relative paths")));
    }
    return path;
  });
  return status;
}

}  // namespace tandem::spec
