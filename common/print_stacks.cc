#include "common/print_stacks.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tandem {

void AskForStacks(pid_t process, bool is_stopped) {
  if (!is_stopped) {
    kill(process, kPrintStacksSignal);
    return;
  }
  // Sent to the process, any thread could take it, and the first one would be gone from where it was before
  // its turn. A signal of its own is what it finds on waking.
  syscall(SYS_tgkill, process, process, kPrintStacksSignal);
  kill(process, SIGCONT);
}

}  // namespace tandem
