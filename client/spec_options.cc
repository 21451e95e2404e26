#include "client/spec_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"
#include "common/spec/spec_file.h"

namespace tandem::client {
namespace {

// "1-4" as a specification has it. What begins with a dash is a number, if a wrong one.
std::string RangeAsYaml(const std::string& text) {
  const size_t dash = text.find('-', 1);
  if (dash == std::string::npos) return text;
  return absl::StrCat("{min: ", text.substr(0, dash), ", max: ", text.substr(dash + 1), "}");
}

}  // namespace

void SpecOptions::AddTo(CLI::App* command) {
  AddWithoutWorkersTo(command);
  command
      ->add_option("--workers", workers,
                   "World size, instead of the file's; MIN-MAX begins with what is free")
      ->type_name("N|MIN-MAX");
  command->add_option("--priority", priority, "Higher ones start first, instead of the file's");
}

void SpecOptions::AddWithoutWorkersTo(CLI::App* command) {
  command->add_option("SPEC", file, "YAML file with the job; - reads standard input")->required();
  command->add_option("--seed", seed, "Key of everything random, instead of the file's");
  AddSettingsTo(command);
}

void SpecOptions::AddSettingsTo(CLI::App* command) {
  command
      ->add_option("--set", settings,
                   "Any other key, as in optimizer.adamw.lr=0.01; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

std::vector<std::string> SpecOptions::AllSettings() const {
  std::vector<std::string> all = settings;
  if (workers) all.push_back(absl::StrCat("workers=", RangeAsYaml(*workers)));
  if (seed) all.push_back(absl::StrCat("seed=", *seed));
  if (priority) all.push_back(absl::StrCat("priority=", *priority));
  return all;
}

absl::StatusOr<v1::JobSpec> SpecOptions::Load() const {
  return spec::LoadSpec(file, AllSettings());
}

absl::StatusOr<v1::JobSpec> SpecOptions::Complete(v1::JobSpec spec) const {
  return spec::CompleteSpec(std::move(spec), AllSettings());
}

void NoteDerivedRanks(const v1::JobSpec& spec, Console* console) {
  if (spec.has_logical_ranks() || spec.has_command()) return;
  v1::JobSpec full = spec;
  spec::FillDefaults(&full);
  console->Remark(absl::StrCat("note: logical_ranks is not set and becomes ", full.logical_ranks(),
                               ", from workers; set it to keep the same result with another number "
                               "of workers"));
}

}  // namespace tandem::client
