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

// Calls `visit` with the key of each path that is given, and the message and field it stands in.
void VisitPaths(
    const std::string& key, Message* message,
    absl::FunctionRef<void(const std::string&, Message*, const FieldDescriptor*)> visit) {
  std::vector<const FieldDescriptor*> fields;
  const auto& reflection = *message->GetReflection();
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = JoinKey(key, field->name());
    if (IsSection(*field)) {
      VisitPaths(name, reflection.MutableMessage(message, field), visit);
    } else if (RuleOf(*field).path()) {
      visit(name, message, field);
    }
  }
}

}  // namespace

void ClearPaths(Message* message) {
  VisitPaths("", message, [](const std::string&, Message* holder, const FieldDescriptor* field) {
    holder->GetReflection()->ClearField(holder, field);
  });
}

void ResolvePaths(const std::string& folder, v1::JobSpec* spec) {
  std::error_code error;
  const auto start = std::filesystem::current_path(error) / folder;
  VisitPaths("", spec, [&](const std::string&, Message* message, const FieldDescriptor* field) {
    const std::string path = message->GetReflection()->GetString(*message, field);
    message->GetReflection()->SetString(message, field, (start / path).lexically_normal());
  });
}

absl::Status CheckPathsAreAbsolute(const v1::JobSpec& spec) {
  absl::Status status;
  v1::JobSpec copy = spec;
  VisitPaths(
      "", &copy, [&](const std::string& key, Message* message, const FieldDescriptor* field) {
        const std::filesystem::path path = message->GetReflection()->GetString(*message, field);
        if (!path.is_absolute()) {
          status.Update(absl::InvalidArgumentError(
              absl::StrCat(key, ": must be absolute; the client resolves relative paths")));
        }
      });
  return status;
}

}  // namespace tandem::spec
