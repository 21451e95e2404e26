// Speaks a trainer's protocol without training, and misbehaves as the name of the job tells it to.

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "common/message_channel.h"
#include "common/print_stacks.h"
#include "common/progress_page.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::agent {
namespace {

constexpr uint64_t kSteps = 3;

struct Trainer {
  int agent_fd;
  MessageChannel channel;
  ProgressPage page;
  v1::Prepare prepare;

  void SendPrepared() {
    v1::TrainerToAgent message;
    message.mutable_prepared()->set_total_steps(kSteps);
    if (prepare.rank() == 0) message.mutable_prepared()->set_master_port(4321);
    (void)channel.Send(message);
  }

  void Step(uint64_t step) {
    page.Set({.step = step, .phase = v1::PHASE_OPTIMIZER});
    v1::TrainerToAgent message;
    message.mutable_progress()->add_samples()->set_step(step);
    (void)channel.Send(message);
  }

  void Finish() {
    page.Set({.step = kSteps, .phase = v1::PHASE_DONE});
    v1::TrainerToAgent message;
    message.mutable_finished()->set_parameter_digest("digest");
    (void)channel.Send(message);
  }
};

[[noreturn]] void Hang() {
  while (true) pause();
}

int Train(Trainer& trainer) {
  trainer.SendPrepared();
  v1::AgentToTrainer start;
  if (!trainer.channel.Receive(&start).ok() || !start.has_start()) return 9;
  for (uint64_t step = 1; step <= kSteps; ++step) trainer.Step(step);
  trainer.Finish();
  std::cout << "trained with master port " << start.start().master_port() << std::endl;
  return 0;
}

// Trains, but not before SIGUSR1.
int TrainWhenTold(Trainer& trainer) {
  sigset_t go;
  sigemptyset(&go);
  sigaddset(&go, SIGUSR1);
  sigprocmask(SIG_BLOCK, &go, nullptr);
  trainer.SendPrepared();
  int received = 0;
  sigwait(&go, &received);
  for (uint64_t step = 1; step <= kSteps; ++step) trainer.Step(step);
  trainer.Finish();
  return 0;
}

int ExitWithCode(Trainer&) {
  std::cerr << "out of memory, perhaps" << std::endl;
  return 3;
}

int Fail(Trainer& trainer) {
  trainer.page.Set({.step = 7, .phase = v1::PHASE_BACKWARD});
  v1::TrainerToAgent message;
  message.mutable_failure()->set_code(v1::CAUSE_CODE_BAD_INPUT);
  message.mutable_failure()->set_message("line 3 has 4 columns");
  (void)trainer.channel.Send(message);
  return 1;
}

int Die(Trainer& trainer) {
  trainer.page.Set({.step = 7, .phase = v1::PHASE_BACKWARD});
  for (int i = 0; i < 50; ++i) std::cerr << "stderr " << i << "\n";
  raise(SIGKILL);
  return 0;
}

int HangReady(Trainer& trainer) {
  trainer.SendPrepared();
  Hang();
}

int IgnoreTerm(Trainer& trainer) {
  signal(SIGTERM, SIG_IGN);
  trainer.SendPrepared();
  Hang();
}

int FinishAndHang(Trainer& trainer) {
  signal(SIGTERM, SIG_IGN);
  trainer.Finish();
  Hang();
}

// Crashes when it is told to stop.
void CrashOnTerm() {
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  signal(SIGTERM, [](int) { std::abort(); });
}

int HangReadyAndCrash(Trainer& trainer) {
  CrashOnTerm();
  return HangReady(trainer);
}

int FailAndCrash(Trainer& trainer) {
  CrashOnTerm();
  Fail(trainer);
  Hang();
}

// Receives one message more than the start, which must be a pause.
int PauseWhenTold(Trainer& trainer) {
  v1::AgentToTrainer message;
  trainer.SendPrepared();
  if (!trainer.channel.Receive(&message).ok() || !message.has_start()) return 9;
  if (!trainer.channel.Receive(&message).ok() || !message.has_pause()) return 9;
  v1::TrainerToAgent paused;
  paused.mutable_paused()->set_step(7);
  return trainer.channel.Send(paused).ok() ? 0 : 9;
}

int PrintStacksAndHang(Trainer& trainer) {
  signal(kPrintStacksSignal, [](int) {
    std::cerr << "frame of a stack\n" << kEndOfStacks << std::endl;
  });
  return HangReady(trainer);
}

// As a command whose program has died, and left something that takes its time to go.
int FailSlowly(Trainer& trainer) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  trainer.page.NoteFailure();
  trainer.SendPrepared();
  int received = 0;
  sigwait(&stop, &received);
  return 3;
}

int Flood(Trainer&) {
  const std::string line(1023, 'x');
  for (int i = 0; i < 1 << 10; ++i) std::cout << line << '\n';
  std::cout << "end of the flood" << std::endl;
  return 0;
}

int PrintOddLines(Trainer&) {
  std::cout << "bad \xFF byte\n" << std::string(20000, 'y') << "\nno newline" << std::flush;
  return 0;
}

int CloseChannel(Trainer& trainer) {
  trainer.channel.Shutdown();
  Hang();
}

int SendGarbage(Trainer& trainer) {
  if (write(trainer.agent_fd, "GET / HTTP/1.1\r\n", 16) != 16) return 9;
  Hang();
}

// Leaves a child behind that nothing but SIGKILL ends.
int LeaveChild(bool escape) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_IGN);
    if (escape) setsid();
    Hang();
  }
  std::cout << child << std::endl;
  return 0;
}

int ListDescriptors(Trainer&) {
  std::set<int> open;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') open.insert(std::atoi(entry->d_name));
  }
  open.erase(dirfd(folder));
  for (int fd : open) std::cout << fd << " ";
  std::cout << std::endl;
  return 0;
}

int PrintDevices(Trainer&) {
  for (const char* name : {"STANDIN_VISIBLE_DEVICES", "WORKSPACE", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    std::cout << name << "=" << (value == nullptr ? "unset" : value) << "\n";
  }
  return 0;
}

int PrintSurroundings(Trainer&) {
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "TANDEM_JOB_ID", "TANDEM_ATTEMPT", "TANDEM_RANK"}) {
    const char* value = std::getenv(name);
    std::cout << name << "=" << (value == nullptr ? "unset" : value) << "\n";
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) std::cout << line << "\n";
  }
  std::cout << "group leader " << (getpgrp() == getpid() ? "yes" : "no") << std::endl;
  return 0;
}

const std::map<std::string, std::function<int(Trainer&)>> kBehaviours = {
    {"train", Train},
    {"train-when-told", TrainWhenTold},
    {"exit-3", ExitWithCode},
    {"fail", Fail},
    {"die", Die},
    {"hang", HangReady},
    {"ignore-term", IgnoreTerm},
    {"finish-and-hang", FinishAndHang},
    {"crash-on-term", HangReadyAndCrash},
    {"fail-and-crash-on-term", FailAndCrash},
    {"pause", PauseWhenTold},
    {"stacks", PrintStacksAndHang},
    {"fail-slowly", FailSlowly},
    {"flood", Flood},
    {"odd-lines", PrintOddLines},
    {"close-channel", CloseChannel},
    {"garbage", SendGarbage},
    {"grandchild", [](Trainer&) { return LeaveChild(false); }},
    {"escape", [](Trainer&) { return LeaveChild(true); }},
    {"descriptors", ListDescriptors},
    {"devices", PrintDevices},
    {"surroundings", PrintSurroundings},
};

int Main(int argc, char** argv) {
  if (argc != 5 || argv[1] != std::string("--agent-fd") || argv[3] != std::string("--progress-fd"))
    return 9;
  auto page = ProgressPage::Open(FileDescriptor(std::atoi(argv[4])));
  if (!page.ok()) return 9;
  const int agent_fd = std::atoi(argv[2]);
  Trainer trainer{agent_fd, MessageChannel(FileDescriptor(agent_fd)), *std::move(page), {}};
  v1::AgentToTrainer first;
  if (!trainer.channel.Receive(&first).ok() || !first.has_prepare()) return 9;
  trainer.prepare = first.prepare();
  const auto behaviour = kBehaviours.find(trainer.prepare.spec().name());
  return behaviour == kBehaviours.end() ? 9 : behaviour->second(trainer);
}

}  // namespace
}  // namespace tandem::agent

int main(int argc, char** argv) { return tandem::agent::Main(argc, argv); }
