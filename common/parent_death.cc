#include "common/parent_death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace tandem {

void DieWithParent(int signal, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) raise(signal);
}

}  // namespace tandem
