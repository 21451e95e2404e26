#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The reference of all keys, printed from spec.proto and from nothing else.
namespace tandem::spec {

// One key, as people are told about it.
struct KeyReference {
  // "optimizer.adamw.lr".
  std::string key;
  // "number", "relu, gelu or tanh", "list of whole numbers", "section".
  std::string type;
  // As written in YAML; "required", or "one of ..." where that is the answer; empty: nothing.
  std::string default_text;
  // "from 1 to 1024"; empty without limits.
  std::string limits;
  std::string help;
  bool is_section = false;
};

// In the order of spec.proto, a section before its keys.
std::vector<KeyReference> AllKeys();

// The key and everything below it; empty when there is no such key. All keys for "".
std::vector<KeyReference> KeysUnder(absl::string_view key);

// For a terminal.
std::string ReferenceText(const std::vector<KeyReference>& keys);

// docs/spec.md, whole.
std::string ReferenceMarkdown();

}  // namespace tandem::spec
