#include "worker/trainer/command_line.h"

#include <iostream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/version.h"
#include "worker/ddp/c10d_process.h"
#include "worker/trainer/probe.h"
#include "worker/trainer/rank_session.h"
#include "worker/trainer/self_test.h"
#include "worker/trainer/stack_printer.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

constexpr int kUsageExitCode = 2;

// An inherited descriptor; invalid where the flag is missing.
FileDescriptor TakeDescriptor(const std::map<std::string, std::string>& flags, const char* name) {
  const auto flag = flags.find(name);
  int fd = -1;
  if (flag == flags.end() || !absl::SimpleAtoi(flag->second, &fd)) return FileDescriptor();
  return FileDescriptor(fd);
}

int RefuseToRunAlone() {
  std::cerr
      << "tandem-trainer: this program is started by tandem-worker; to train, use `tandem run`; "
         "by itself it takes --probe, --self-test and --version"
      << std::endl;
  return kUsageExitCode;
}

}  // namespace

int TrainerMain(int argc, char** argv, const Hooks& hooks) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::cout << "tandem-trainer " << kVersion << " (" << LibraryVersions() << ")" << std::endl;
    return 0;
  }
  if (argc > 1 && absl::StartsWith(argv[1], "--self-test"))
    return SelfTestMain({argv + 1, argv + argc});
  if (argc == 2 && std::string(argv[1]) == "--probe") return PrintProbeReport();
  InstallStackPrinter(argv[0]);
  ddp::PrepareProcessForC10d();
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  FileDescriptor agent = TakeDescriptor(flags, "--agent-fd");
  FileDescriptor page_file = TakeDescriptor(flags, "--progress-fd");
  if (!agent.valid() || !page_file.valid()) return RefuseToRunAlone();
  absl::StatusOr<ProgressPage> page = ProgressPage::Open(std::move(page_file));
  if (!page.ok()) return RefuseToRunAlone();
  return RunRank(std::move(agent), *std::move(page), hooks);
}

}  // namespace tandem::trainer
