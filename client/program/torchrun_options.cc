#include "client/program/torchrun_options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tandem::client {
namespace {

constexpr const char* kGroup = "As torchrun's, for a program";

// "--nproc-per-node" is also "--nproc_per_node".
std::string BothSpellings(const std::string& name) {
  const std::string::size_type word = name.find("--") + 2;
  const std::string with_underscores =
      absl::StrCat("--", absl::StrReplaceAll(name.substr(word), {{"-", "_"}}));
  return name.substr(word - 2) == with_underscores ? name
                                                   : absl::StrCat(name, ",", with_underscores);
}

template <typename Value>
CLI::Option* Add(CLI::App* command, const std::string& name, Value* value,
                 const std::string& help) {
  return command->add_option(BothSpellings(name), *value, help)->group(kGroup);
}

void AddFlag(CLI::App* command, const std::string& name, bool* value, const std::string& help) {
  command->add_flag(BothSpellings(name), *value, help)->group(kGroup);
}

struct Ignored {
  const char* name;
  bool takes_value;
};

// Where ranks meet, who numbers them and how they are watched is Tandem's.
constexpr Ignored kIgnored[] = {
    {"--rdzv-backend", true},        {"--rdzv-endpoint", true},     {"--rdzv-conf", true},
    {"--node-rank", true},           {"--master-addr", true},       {"--local-addr", true},
    {"--monitor-interval", true},    {"--start-method", true},      {"--role", true},
    {"--local-ranks-filter", true},  {"--logs-specs", true},        {"--numa-binding", true},
    {"--event-log-handler", true},   {"--signals-to-handle", true}, {"--run-path", false},
    {"--virtual-local-rank", false},
};

// Not shown in the help, where they would only be in the way.
void AddIgnored(CLI::App* command, std::vector<std::string>* given) {
  for (const Ignored& option : kIgnored) {
    const std::string name = option.name;
    if (option.takes_value) {
      command
          ->add_option_function<std::string>(
              BothSpellings(name), [=](const std::string&) { given->push_back(name); }, "")
          ->group("");
    } else {
      command
          ->add_flag_callback(
              BothSpellings(name), [=] { given->push_back(name); }, "")
          ->group("");
    }
  }
}

}  // namespace

void TorchrunOptions::AddProgramKindTo(CLI::App* command) {
  AddFlag(command, "-m,--module", &module, "The program is a Python module, run by python3 -u -m");
  AddFlag(command, "--no-python", &no_python, "Run the program itself, also where it ends in .py");
}

void TorchrunOptions::AddTo(CLI::App* command) {
  Add(command, "--nproc-per-node", &nproc_per_node,
      "Ranks on each node; on this machine also cpu or auto, one for each core")
      ->type_name("N");
  Add(command, "--nnodes", &nnodes,
      "World size is this times the ranks on each; Tandem places them")
      ->type_name("N|MIN:MAX");
  AddFlag(command, "--standalone", &standalone, "Run on this machine, as with --local");
  Add(command, "--max-restarts", &max_restarts, "How many failed attempts are followed by another")
      ->type_name("N");
  Add(command, "--master-port", &master_port,
      "The port to meet on. Left out: one that nobody else can have")
      ->type_name("PORT");
  Add(command, "--rdzv-id", &rdzv_id, "Becomes the name of the job")->type_name("ID");
  Add(command, "--log-dir", &log_dir,
      "Also write what each rank prints to DIR/JOB/attempt_A/RANK/stdout.log and stderr.log")
      ->type_name("DIR");
  Add(command, "-r,--redirects", &redirects,
      "What is not shown here: 1 is stdout, 2 stderr, 3 both; or RANK:N,... by rank")
      ->type_name("N");
  Add(command, "-t,--tee", &tee, "What is shown although it is redirected")->type_name("N");
  AddProgramKindTo(command);
  AddIgnored(command, &ignored);
}

}  // namespace tandem::client
