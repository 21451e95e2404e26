#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tandem/v1/options.pb.h"

// What the options on a field of spec.proto say, for whoever reads, checks or prints a
// specification.
namespace tandem::spec {

const v1::Rule& RuleOf(const google::protobuf::FieldDescriptor& field);

// A message with keys of its own; a duration is written as one word.
bool IsSection(const google::protobuf::FieldDescriptor& field);

// What the field is called in a file: "workers.min" where it is written as part of a range.
std::string KeyName(const google::protobuf::FieldDescriptor& field);

// The sibling that takes this key's meaning away where it is given; nullptr: there is none.
const google::protobuf::FieldDescriptor* Excluder(const google::protobuf::FieldDescriptor& field);

// The field that holds the lower end of a range whose upper end is this one; nullptr: it is no range.
const google::protobuf::FieldDescriptor* RangeStart(const google::protobuf::FieldDescriptor& field);

// "activation" for ACTIVATION_RELU is written "relu".
std::string EnumText(const google::protobuf::EnumValueDescriptor& value);
// Every value that can be written; the unspecified one cannot.
std::vector<std::string> EnumTexts(const google::protobuf::EnumDescriptor& type);

// One element of the field, for people: "whole number", "relu, gelu or tanh".
std::string TypeText(const google::protobuf::FieldDescriptor& field);

// "from 1 to 1024", "greater than 0"; empty without bounds.
std::string LimitsText(const v1::Rule& rule);

// The shortest text that reads back as the same number.
std::string NumberText(double value);

// "a, b or c".
std::string Alternatives(const std::vector<std::string>& words);

// "optimizer" and "adamw" are "optimizer.adamw".
std::string JoinKey(absl::string_view parent, absl::string_view name);

// Sets a singular scalar field, or adds an element to a repeated one, from the text written in a
// file.
//   InvalidArgument  what was expected and what was found.
absl::Status SetFromText(absl::string_view text, const google::protobuf::FieldDescriptor& field,
                         google::protobuf::Message* message);

// What is wrong with one value of a number, duration or enum: an element of a repeated field, else index 0.
std::optional<std::string> ValueProblem(const google::protobuf::Message& message,
                                        const google::protobuf::FieldDescriptor& field, int index);

// The element as it is written in YAML. Not for messages.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field, int index);

}  // namespace tandem::spec
