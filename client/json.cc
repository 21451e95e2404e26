#include "client/json.h"

#include <google/protobuf/util/json_util.h>

namespace tandem::client {

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // Fails only on Any messages of unknown type; Tandem has none.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

}  // namespace tandem::client
