#include "worker/process/testing/test_agent.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/parent_death.h"

namespace tandem {
namespace {

// Appended to: of two threads that write at once, neither overwrites the other.
FileDescriptor NewOutputFile() {
  FileDescriptor file(memfd_create("output", MFD_CLOEXEC));
  fcntl(file.get(), F_SETFL, O_APPEND);
  return file;
}

void Inherit(int fd) { fcntl(fd, F_SETFD, 0); }

pid_t Spawn(const std::string& binary, const std::vector<std::string>& arguments, int output,
            const std::vector<int>& inherited) {
  std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  DieWithParent(SIGKILL, parent);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const int fd : inherited) Inherit(fd);
  execv(binary.c_str(), argv.data());
  _exit(127);
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Contents(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t n;
  while ((n = pread(fd, buffer, sizeof(buffer), static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

TestTrainer::TestTrainer(const std::string& binary, const v1::Prepare& prepare)
    : prepare_(prepare), page_(ProgressPage::Create().value()), output_(NewOutputFile()) {
  auto [ours, theirs] = MakeSocketPair().value();
  channel_ = std::make_unique<MessageChannel>(std::move(ours));
  const std::vector<std::string> arguments = {"--agent-fd", absl::StrCat(theirs.get()),
                                              "--progress-fd", absl::StrCat(page_.fd())};
  pid_ = Spawn(binary, arguments, output_.get(), {theirs.get(), page_.fd()});
  v1::AgentToTrainer message;
  *message.mutable_prepare() = prepare;
  channel_->Send(message).IgnoreError();  // a trainer that died at once is found by Await
}

TestTrainer::~TestTrainer() {
  if (pid_ < 0) return;
  Kill();
  AwaitExit();
}

v1::TrainerToAgent TestTrainer::Await() {
  v1::TrainerToAgent message;
  if (!channel_->Receive(&message).ok()) message.Clear();
  return message;
}

void TestTrainer::Start(uint32_t master_port) {
  v1::Prepared rank_0;
  rank_0.set_master_port(master_port);
  Start(rank_0);
}

void TestTrainer::Start(const v1::Prepared& rank_0) {
  v1::AgentToTrainer message;
  v1::Start& start = *message.mutable_start();
  start.set_job_id(prepare_.job_id());
  start.set_attempt(prepare_.attempt());
  start.set_master_address(prepare_.advertise_address());
  start.set_master_port(rank_0.master_port());
  start.set_nccl_unique_id(rank_0.nccl_unique_id());
  start.set_report_port(rank_0.report_port());
  start.set_report_token(rank_0.report_token());
  channel_->Send(message).IgnoreError();
}

void TestTrainer::Pause() {
  v1::AgentToTrainer message;
  message.mutable_pause();
  channel_->Send(message).IgnoreError();
}

void TestTrainer::Terminate() { kill(-pid_, SIGTERM); }

void TestTrainer::Kill() { kill(pid_, SIGKILL); }

int TestTrainer::AwaitExit() { return WaitFor(std::exchange(pid_, -1)); }

bool TestTrainer::IsStopped() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::set<pid_t> TestTrainer::Threads() const {
  std::set<pid_t> threads;
  const std::string folder = absl::StrCat("/proc/", pid_, "/task");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    threads.insert(std::stoi(entry.path().filename()));
  }
  return threads;
}

std::string TestTrainer::Output() const { return Contents(output_.get()); }

Exited RunProgram(const std::string& binary, const std::vector<std::string>& arguments) {
  const FileDescriptor output = NewOutputFile();
  const int code = WaitFor(Spawn(binary, arguments, output.get(), {}));
  return {code, Contents(output.get())};
}

v1::Prepare PrepareFor(const v1::JobSpec& spec, uint32_t rank, uint32_t world_size,
                       const std::string& kind) {
  v1::Prepare prepare;
  prepare.set_job_id("job-1");
  prepare.set_attempt(1);
  prepare.set_rank(rank);
  prepare.set_world_size(world_size);
  prepare.set_local_rank(rank);
  prepare.set_local_world_size(world_size);
  prepare.set_slot(absl::StrCat(kind, ":", rank));
  for (uint32_t i = 0; i < world_size; ++i) prepare.add_local_slots(absl::StrCat(kind, ":", i));
  prepare.set_group_world_size(1);
  *prepare.mutable_spec() = spec;
  prepare.set_advertise_address("127.0.0.1");
  return prepare;
}

RankRecord Record(TestTrainer& trainer) {
  RankRecord record;
  for (auto message = trainer.Await(); message.kind_case() != 0; message = trainer.Await()) {
    if (message.has_finished()) record.digest = message.finished().parameter_digest();
    if (message.has_paused()) record.paused = message.paused().step();
    if (message.has_failure()) record.failure = message.failure();
    if (!message.has_progress()) continue;
    record.messages.push_back(message.progress());
    for (const auto& sample : message.progress().samples()) {
      record.samples.push_back(sample.SerializeAsString());
    }
    for (const auto& evaluation : message.progress().evaluations()) {
      record.evaluations.push_back(evaluation.SerializeAsString());
    }
  }
  record.exit_code = trainer.AwaitExit();
  record.position = trainer.position();
  record.output = trainer.Output();
  return record;
}

std::vector<RankRecord> RunJob(const std::string& binary, const v1::JobSpec& spec,
                               uint32_t world_size, const AttemptOptions& attempt) {
  std::vector<std::unique_ptr<TestTrainer>> trainers;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    v1::Prepare prepare = PrepareFor(spec, rank, world_size, attempt.kind);
    prepare.set_attempt(attempt.number);
    trainers.push_back(std::make_unique<TestTrainer>(binary, prepare));
  }
  std::vector<v1::Prepared> prepared;
  for (auto& trainer : trainers) prepared.push_back(trainer->Await().prepared());
  for (const uint32_t rank : attempt.paused_ranks) trainers[rank]->Pause();
  for (auto& trainer : trainers) trainer->Start(prepared[0]);

  std::vector<RankRecord> records(world_size);
  std::vector<std::thread> readers;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    readers.emplace_back([&, rank] { records[rank] = Record(*trainers[rank]); });
  }
  for (std::thread& reader : readers) reader.join();
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    records[rank].total_steps = prepared[rank].total_steps();
    records[rank].steps_done = prepared[rank].steps_done();
    records[rank].receipt = prepared[rank].receipt();
  }
  return records;
}

}  // namespace tandem
