#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/spec/cross_rules.h"
#include "common/spec/reference.h"

namespace tandem::spec {
namespace {

constexpr const char* kHead = R"(# The job specification

<!-- Printed by `tandem explain --markdown` from proto/tandem/v1/spec.proto; do not edit by hand. -->

A job is a YAML file. `tandem check FILE` reads it, checks it and prints it with all defaults filled in;
`tandem explain KEY` prints what this page says about a key.

Little more than what is required:

```yaml
name: digits
logical_ranks: 4
global_batch_size: 64
epochs: 20
data:
  csv: {path: data/digits.csv, classes: 10}
model:
  mlp: {hidden: [128]}
optimizer:
  adamw: {lr: 0.001}
```

The same batches and the same bits on one, two or four workers, measured on samples kept apart:

```yaml
name: digits-dropout
workers: 2
logical_ranks: 4
seed: 7
global_batch_size: 128
steps: 500
data:
  csv:
    path: data/digits.csv
    classes: 10
    scale: 0.0625
  shuffle: true
  drop_last: false
model:
  mlp:
    hidden: [128, 64]
    activation: gelu
    dropout: 0.2
optimizer:
  sgd: {lr: 0.1, momentum: 0.9, weight_decay: 0.0001}
evaluate:
  holdout: 0.2
  every_epochs: 5
```

A relative path is taken from the folder of the file; one given with `--set` on the command line, from the
working directory.

## What is refused

A specification with a mistake never starts: the client exits with 2 and one line that begins with the place.

```
digits.yaml:3:1: batch_size: unknown key, did you mean global_batch_size?
digits.yaml:9:19: model.mlp.hidden[0]: expected a whole number, found '1e3' (write 1000)
digits.yaml:11:3: optimizer.adamw.lr: required: number greater than 0
```

Refused are: a key that is not on this page, or given twice; a value of another type, or outside its limits; a
number in quotes; a missing required key; none, or two, where exactly one is asked for. Besides:

)";

// A vertical bar would end the cell.
std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Row(const KeyReference& key) {
  const std::string name = key.key.substr(key.key.rfind('.') + 1);
  const std::string default_text =
      key.default_text.empty() ? "" : absl::StrCat(" ", Cell(key.default_text));
  const std::string limits = key.limits.empty() ? "" : absl::StrCat(" ", key.limits);
  return absl::StrCat("| `", name, "` | ", Cell(key.type), " |", default_text, " |", limits, " | ",
                      Cell(key.help), " |\n");
}

bool IsDirectlyUnder(const std::string& key, const std::string& section) {
  if (section.empty()) return key.find('.') == std::string::npos;
  return key.rfind('.') == section.size() && key.compare(0, section.size(), section) == 0;
}

std::string Table(const std::vector<KeyReference>& keys, const std::string& section) {
  std::string table =
      "\n| key | type | default | limits | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const KeyReference& key : keys) {
    if (IsDirectlyUnder(key.key, section)) table += Row(key);
  }
  return table;
}

}  // namespace

std::string ReferenceMarkdown() {
  std::string page = kHead;
  for (const CrossRule& rule : CrossRules()) absl::StrAppend(&page, "- ", rule.text, "\n");
  const std::vector<KeyReference> keys = AllKeys();
  absl::StrAppend(&page, "\n## All keys\n", Table(keys, ""));
  for (const KeyReference& key : keys) {
    if (!key.is_section) continue;
    absl::StrAppend(&page, "\n### `", key.key, "`\n\n", key.help, "\n", Table(keys, key.key));
  }
  return page;
}

}  // namespace tandem::spec
