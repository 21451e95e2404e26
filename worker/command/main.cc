// tandem-command: one rank of a job whose training is a program of its user's, started by tandem-worker.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "common/version.h"
#include "worker/command/ending.h"
#include "worker/command/keeper.h"
#include "worker/command/launcher.h"

namespace tandem::command {
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
  std::cerr << "tandem-command: this program is started by tandem-worker; to run a command, use "
               "`tandem run --local 2 -- PROGRAM`"
            << std::endl;
  return kUsageExitCode;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::cout << "tandem-command " << kVersion << std::endl;
    return 0;
  }
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  FileDescriptor agent = TakeDescriptor(flags, "--agent-fd");
  absl::StatusOr<ProgressPage> page = ProgressPage::Open(TakeDescriptor(flags, "--progress-fd"));
  if (!agent.valid() || !page.ok()) return RefuseToRunAlone();

  // Of a job in which this worker itself was started.
  unsetenv("TANDEM_CHECKPOINT_DIR");
  // Set for trainers; torchrun sets no such thing.
  unsetenv("MKL_NUM_THREADS");
  signal(SIGPIPE, SIG_IGN);
  const pid_t group = getpgrp();
  const pid_t keeper = SplitFromKeeper();
  auto loop = EventLoop::Create();
  if (!loop.ok()) {
    std::cerr << "tandem-command: " << loop.status().message() << std::endl;
    return 1;
  }
  EndLike(Launcher({.loop = loop->get(),
                    .agent = std::move(agent),
                    .page = *std::move(page),
                    .keeper = keeper,
                    .group = group})
              .Run());
}

}  // namespace
}  // namespace tandem::command

int main(int argc, char** argv) { return tandem::command::Main(argc, argv); }
