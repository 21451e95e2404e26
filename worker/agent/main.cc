// tandem-worker: offers the slots of this host to a coordinator and runs trainers on them.
//
// Exit codes: 0 stopped by SIGTERM or SIGINT (which end it as such while it looks for devices); 1 refused by the coordinator, or it has been gone for
// too long; 2 bad flags, no trainer, no log folder, or a device that does not work.

#include <google/protobuf/util/json_util.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/file_descriptor.h"
#include "common/host/gather.h"
#include "common/parent_death.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_options_from_flags.h"
#include "worker/agent/flags.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {
namespace {

constexpr int kFailed = 1, kBadUsage = 2;

int Complain(const absl::Status& status, int exit_code) {
  std::cerr << "tandem-worker: " << status.message() << std::endl;
  return exit_code;
}

// Blocks both in this thread and in all that it starts, and returns a descriptor that reads them.
FileDescriptor CatchStopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  return FileDescriptor(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Serve(AgentOptions options, const FileDescriptor& stop_signals) {
  auto loop = EventLoop::Create();
  if (!loop.ok()) return Complain(loop.status(), kFailed);
  const SystemClock clock;
  std::cerr << "tandem-worker: what ranks print is kept in " << options.ranks.logs.directory
            << std::endl;
  Agent agent(loop->get(), &clock, std::move(options));
  const auto watch = (*loop)->Watch(stop_signals.get(), EPOLLIN, [&](uint32_t) {
    signalfd_siginfo received;
    if (read(stop_signals.get(), &received, sizeof(received)) > 0) agent.Shutdown(absl::OkStatus());
  });
  agent.Start();
  (*loop)->Run();
  return agent.outcome().ok() ? 0 : Complain(agent.outcome(), kFailed);
}

// In the background of whatever trains here.
int PrintHostFacts(const Flags& flags) {
  constexpr int kInBackground = 5;
  (void)!nice(kInBackground);
  const v1::HostFacts facts = host::GatherHostFacts({.trainer = flags.trainer,
                                                     .advertise_address = flags.advertise_address,
                                                     .temporary = flags.log_dir,
                                                     .patience = absl::Minutes(3)});
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(facts, &json);
  std::cout << json << std::endl;
  return 0;
}

int Main(int argc, char** argv) {
  const pid_t parent = getppid();
  const auto flags = ParseFlags(argc, argv);
  if (!flags.ok()) return Complain(flags.status(), kBadUsage);
  if (!flags->show.empty()) {
    std::cout << flags->show;
    return 0;
  }
  if (flags->host_facts) return PrintHostFacts(*flags);
  // Whoever reads what we print may go before us.
  signal(SIGPIPE, SIG_IGN);
  if (flags->die_with_parent) DieWithParent(SIGTERM, parent);
  auto options = MakeAgentOptions(*flags);
  if (!options.ok()) return Complain(options.status(), kBadUsage);
  // Not before: a stop need not wait for the look at the devices, which takes a while.
  const FileDescriptor stop_signals = CatchStopSignals();
  const std::string logs = options->ranks.logs.directory;
  const int exit_code = Serve(*std::move(options), stop_signals);
  // One of our own making, left empty; any other stays, because rmdir removes no files.
  if (flags->log_dir.empty()) rmdir(logs.c_str());
  return exit_code;
}

}  // namespace
}  // namespace tandem::agent

int main(int argc, char** argv) { return tandem::agent::Main(argc, argv); }
