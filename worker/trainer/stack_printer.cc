#include "worker/trainer/stack_printer.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "absl/debugging/symbolize.h"
#include "common/print_stacks.h"

// Everything below InstallStackPrinter runs in a signal handler: no memory is allocated, and no
// lock is taken but one that the unwinder may need where code was made at run time.
namespace tandem::trainer {
namespace {

constexpr int kMaxFrames = 64;
// PrintOwnStack and the handler.
constexpr int kOwnFrames = 2;
// For a thread to begin. Threads of drivers may never: all of those together have to fit into the patience
// of the agent.
constexpr int kWaitMilliseconds = 200;

// The thread that is asked to print; kTaken while it does; 0 when it has.
constexpr pid_t kTaken = -1;
std::atomic<pid_t> turn{0};
std::atomic<bool> printing{false};

void Write(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

void WriteNumber(uint64_t number) {
  char digits[24];
  char* begin = digits + sizeof(digits) - 1;
  *begin = '\0';
  do {
    *--begin = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Write(begin);
}

pid_t ThreadId() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void PrintOwnStack() {
  void* frames[kMaxFrames];
  // Not absl::GetStackTrace, which needs frame pointers: libraries have none.
  const int depth = backtrace(frames, kMaxFrames);
  Write("thread ");
  WriteNumber(static_cast<uint64_t>(ThreadId()));
  Write(":\n");
  for (int i = kOwnFrames; i < depth; ++i) {
    char name[512];
    Write("  ");
    Write(absl::Symbolize(frames[i], name, sizeof(name)) ? name : "?");
    Write("\n");
  }
}

void Sleep(int milliseconds) {
  const timespec pause{0, milliseconds * 1'000'000L};
  nanosleep(&pause, nullptr);
}

void AskToPrint(pid_t thread) {
  turn = thread;
  if (syscall(SYS_tgkill, getpid(), thread, kPrintStacksSignal) != 0) {
    turn = 0;
    return;
  }
  for (int waited = 0; turn == thread && waited < kWaitMilliseconds; ++waited) Sleep(1);
  pid_t silent = thread;
  if (!turn.compare_exchange_strong(silent, 0)) {
    // It has begun, and may look for names in a large library for a while. Two that print at once could
    // not be read.
    while (turn != 0) Sleep(1);
    return;
  }
  Write("thread ");
  WriteNumber(static_cast<uint64_t>(thread));
  Write(": does not answer\n");
}

pid_t ParseThreadId(const char* name) {
  pid_t id = 0;
  for (; *name >= '0' && *name <= '9'; ++name) id = id * 10 + (*name - '0');
  return *name == '\0' ? id : 0;
}

// By the system call, because opendir allocates.
void AskTheOtherThreads() {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const pid_t self = ThreadId();
  alignas(dirent64) char entries[4096];
  for (;;) {
    const auto size = syscall(SYS_getdents64, folder, entries, sizeof(entries));
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const pid_t thread = ParseThreadId(entry->d_name);
      if (thread != 0 && thread != self) AskToPrint(thread);
    }
  }
  close(folder);
}

// The first thread that gets the signal asks the others, one at a time. One that answers when its turn is over
// keeps quiet.
void OnSignal(int, siginfo_t* info, void*) {
  const int saved = errno;
  pid_t self = ThreadId();
  if (turn.compare_exchange_strong(self, kTaken)) {
    PrintOwnStack();
    turn = 0;
  } else if (info->si_pid != getpid() && !printing.exchange(true)) {
    Write("\n");
    PrintOwnStack();
    AskTheOtherThreads();
    Write(kEndOfStacks);
    // Before the line is whole: who has read it may ask again at once.
    printing = false;
    Write("\n");
  }
  errno = saved;
}

}  // namespace

void InstallStackPrinter(const char* program) {
  absl::InitializeSymbolizer(program);
  // The first use loads a library, which a signal handler must not; later ones do not.
  void* frame = nullptr;
  backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(kPrintStacksSignal, &action, nullptr);
}

}  // namespace tandem::trainer
