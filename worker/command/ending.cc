#include "worker/command/ending.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::command {

ExitStatus ExitStatusOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status)};
}

void EndLike(ExitStatus status) {
  if (status.signal != 0) {
    // The core file, if there is one, is the program's.
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(status.signal, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, status.signal);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    raise(status.signal);
  }
  _exit(status.code);
}

}  // namespace tandem::command
