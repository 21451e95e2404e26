// `tandem check` and `explain`: about specifications; no coordinator is needed.
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands.h"
#include "client/spec_options.h"
#include "common/spec/nearest.h"
#include "common/spec/reference.h"
#include "common/spec/spec.h"
#include "common/spec/yaml_writer.h"
#include "tandem/v1/client.pb.h"

namespace tandem::client {
namespace {

absl::StatusOr<ExitCode> Check(Context* context, const SpecOptions& options) {
  auto spec = options.Load();
  if (!spec.ok()) return spec.status();
  NoteDerivedRanks(*spec, &context->console);
  spec::FillDefaults(&*spec);
  context->Answer(*spec, [&] { return spec::WriteYaml(*spec); });
  return ExitCode::kSuccess;
}

// The keys that may be meant: those of that name in any section, else the nearest one.
std::vector<std::string> KeysLike(const std::string& word) {
  std::vector<std::string> all, namesakes;
  for (const spec::KeyReference& known : spec::AllKeys()) {
    all.push_back(known.key);
    if (absl::EndsWith(known.key, absl::StrCat(".", word))) namesakes.push_back(known.key);
  }
  const auto nearest = spec::NearestWord(word, all);
  if (namesakes.empty() && nearest) namesakes.push_back(*nearest);
  return namesakes;
}

absl::Status NoSuchKey(const std::string& key) {
  const std::vector<std::string> like = KeysLike(key);
  const std::string hint = absl::StrCat(", did you mean ", absl::StrJoin(like, " or "), "?");
  return absl::NotFoundError(
      absl::StrCat("there is no key ", key, like.empty() ? "; `tandem explain` lists them" : hint));
}

v1::KeyReferences AsMessage(const std::vector<spec::KeyReference>& keys) {
  v1::KeyReferences message;
  for (const spec::KeyReference& key : keys) {
    v1::KeyReference& reference = *message.add_keys();
    reference.set_key(key.key);
    reference.set_type(key.type);
    reference.set_default_(key.default_text);
    reference.set_limits(key.limits);
    reference.set_help(key.help);
  }
  return message;
}

absl::StatusOr<ExitCode> Explain(Context* context, const std::string& key, bool markdown) {
  const auto keys = spec::KeysUnder(key);
  if (keys.empty()) return NoSuchKey(key);
  context->Answer(AsMessage(keys),
                  [&] { return markdown ? spec::ReferenceMarkdown() : spec::ReferenceText(keys); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddSpecCommands(CLI::App* app, Context* context) {
  auto options = std::make_shared<SpecOptions>();
  CLI::App* check = app->add_subcommand("check", "Check a job and print it with all defaults");
  options->AddTo(check);
  check->callback([=] { context->command = [=] { return Check(context, *options); }; });

  auto key = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* explain = app->add_subcommand("explain", "What the keys of a job mean");
  explain->add_option("KEY", *key, "One key or section, as optimizer.adamw; all when left out");
  explain->add_flag("--markdown", *markdown, "The whole reference, as in docs/spec.md");
  explain->callback([=] { context->command = [=] { return Explain(context, *key, *markdown); }; });
}

}  // namespace tandem::client
