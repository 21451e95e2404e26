// tandemd: the coordinator.

#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/base/log_severity.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/version.h"
#include "server/daemon.h"
#include "server/flags.h"
#include "server/port_file.h"

namespace tandem {
namespace {

// "2026-01-31T12:00:00.123+00:00 warning: text". One write a line, so that lines of threads do not
// mix.
void LogToStderr(absl::LogSeverity severity, absl::string_view text) {
  const char* const mark = severity == absl::LogSeverity::kInfo      ? ""
                           : severity == absl::LogSeverity::kWarning ? "warning: "
                                                                     : "error: ";
  const std::string time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3S%Ez", absl::Now(), absl::LocalTimeZone());
  std::cerr << absl::StrCat(time, " ", mark, text, "\n");
}

// Blocks the signals that stop us, in this thread and all it starts, so that sigwait() gets them.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// gRPC stops listening for good when it runs out of descriptors, and shells give us few.
void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void WarnIfExposed(absl::string_view flag, const HostPort& address) {
  if (address.IsLoopback()) return;
  LogToStderr(absl::LogSeverity::kWarning,
              absl::StrCat(flag, " ", address.ToString(),
                           " is reachable from other machines, without encryption or passwords: "
                           "anyone who reaches it can run jobs"));
}

int Fail(const absl::Status& status) {
  std::cerr << absl::StrCat("tandemd: ", status.message(), "\n");
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

int Main(int argc, char** argv) {
  const ParsedFlags flags = ParseFlags(argc, argv);
  if (flags.exit_code.has_value()) return *flags.exit_code;
  const DaemonOptions& options = flags.options;
  // Our own line says what went wrong; gRPC's are for those who ask for them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  RaiseDescriptorLimit();
  const sigset_t stop_signals = BlockStopSignals();
  const SystemClock clock;
  const auto daemon = Daemon::Start(options, clock, LogToStderr);
  if (!daemon.ok()) return Fail(daemon.status());
  const HostPort& grpc = (*daemon)->grpc_address();
  const HostPort& http = (*daemon)->http_address();
  WarnIfExposed("--listen", grpc);
  WarnIfExposed("--http", http);
  if (!options.port_file.empty()) {
    const absl::Status written = WritePortFile(options.port_file, grpc, http);
    if (!written.ok()) return Fail(written);
  }
  std::cout << absl::StrCat("tandemd ", kVersion, " listening on ", grpc.ToString(), ", http ",
                            http.ToString(), ", state in ", options.state_dir, "\n")
            << std::flush;
  int signal = 0;
  sigwait(&stop_signals, &signal);
  LogToStderr(absl::LogSeverity::kInfo, absl::StrCat("stopping: ", strsignal(signal)));
  (*daemon)->Stop();
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) { return tandem::Main(argc, argv); }
