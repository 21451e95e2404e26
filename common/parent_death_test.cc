#include "common/parent_death.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file_descriptor.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    if (pipe(fds) == 0) read.Reset(fds[0]), write.Reset(fds[1]);
  }
  FileDescriptor read, write;
};

// Starts a parent and its child. The child says that it is up, then waits for ever, holding the
// write end.
pid_t StartParentAndChild(Pipe& alive) {
  const pid_t parent = fork();
  if (parent != 0) return parent;
  const pid_t self = getpid();
  if (fork() == 0) {
    DieWithParent(SIGKILL, self);
    if (write(alive.write.get(), "+", 1) != 1) _exit(1);
  }
  while (true) pause();
}

// Whether the last holder of the write end is gone within the time given.
bool ClosesWithin(const Pipe& alive, int milliseconds) {
  pollfd waiting{alive.read.get(), POLLIN, 0};
  char byte;
  return poll(&waiting, 1, milliseconds) == 1 && read(alive.read.get(), &byte, 1) == 0;
}

void KillAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(DieWithParent, ParentIsKilled_ChildIsGone) {
  Pipe alive;
  const pid_t parent = StartParentAndChild(alive);
  alive.write.Reset();
  char up;
  ASSERT_EQ(read(alive.read.get(), &up, 1), 1);
  KillAndReap(parent);
  EXPECT_TRUE(ClosesWithin(alive, 5000));
}

TEST(DieWithParent, ParentDiedBeforeTheCall_RaisesAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t not_the_parent = getpid();
    DieWithParent(SIGKILL, not_the_parent);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace tandem
