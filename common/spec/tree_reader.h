#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/spec/yaml_reader.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

// How one YAML tree becomes one message; yaml_reader.h is what others use.
namespace tandem::spec {

// The place of a setting that comes from no file.
constexpr const char* kCommandLine = "command line";

//   InvalidArgument  "place: key: what", or without the key where that is empty.
absl::Status ErrorAt(absl::string_view place, absl::string_view key, absl::string_view what);

// "FILE:LINE:COLUMN".
std::string PlaceOf(const std::string& file_name, const YAML::Mark& mark);

// What to say about a word that is no key of the type, which stands below `parent`.
std::string UnknownKey(const std::string& parent, const std::string& word,
                       const google::protobuf::Descriptor& type);

// Walks a YAML tree and the message it describes side by side. The depth is that of the message
// type, and no value of it can be reached twice by an alias without an error, so a small file stays
// small work.
class TreeReader {
 public:
  // With `fixed_place`, everything is said to stand there.
  TreeReader(SpecSource* source, std::string fixed_place)
      : source_(*source), fixed_place_(std::move(fixed_place)) {}

  // Each with `key` as the node's name in messages.
  //   InvalidArgument  as ErrorAt makes it, for the first thing that is wrong.
  absl::Status ReadMessage(const YAML::Node& node, const std::string& key,
                           google::protobuf::Message* message);
  absl::Status ReadField(const YAML::Node& node, const std::string& key,
                         const google::protobuf::FieldDescriptor& field,
                         google::protobuf::Message* message);
  // Where the key is said to stand from now on.
  void RememberPlace(const std::string& key, const YAML::Node& node);

 private:
  std::string Place(const YAML::Node& node) const;
  absl::Status Error(const YAML::Node& node, const std::string& key, absl::string_view what) const;
  absl::Status WrongType(const YAML::Node& node, const std::string& key,
                         absl::string_view expected) const;
  absl::Status ReadEntry(const YAML::Node& name, const YAML::Node& value, const std::string& parent,
                         std::set<std::string>* seen, google::protobuf::Message* message);
  absl::Status CheckAloneInOneof(const YAML::Node& name, const std::string& key,
                                 const google::protobuf::FieldDescriptor& field,
                                 const google::protobuf::Message& message) const;
  // {min: A, max: B}
  absl::Status ReadRange(const YAML::Node& node, const std::string& key,
                         const google::protobuf::FieldDescriptor& from,
                         const google::protobuf::FieldDescriptor& to,
                         google::protobuf::Message* message);
  absl::Status ReadAssignments(const YAML::Node& node, const std::string& key,
                               const google::protobuf::FieldDescriptor& field,
                               google::protobuf::Message* message);
  absl::Status ReadList(const YAML::Node& node, const std::string& key,
                        const google::protobuf::FieldDescriptor& field,
                        google::protobuf::Message* message);
  absl::Status ReadScalar(const YAML::Node& node, const std::string& key,
                          const google::protobuf::FieldDescriptor& field, int index,
                          google::protobuf::Message* message);

  SpecSource& source_;
  const std::string fixed_place_;
};

}  // namespace tandem::spec
