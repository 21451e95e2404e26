#include "worker/command/testing/command_job.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "worker/process/process_stat.h"

namespace tandem::command {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Seconds(20);

// Polls until the condition holds; false at the deadline.
template <typename Condition>
bool AwaitThat(const Condition& condition) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

std::string Contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

v1::JobSpec SpecOf(const std::vector<std::string>& argv) {
  v1::JobSpec spec;
  spec.set_name("script");
  spec.set_logical_ranks(4);
  spec.set_seed(7);
  spec.set_threads_per_rank(1);
  spec.mutable_restart()->set_max(3);
  v1::Command& command = *spec.mutable_command();
  for (const std::string& argument : argv) command.add_argv(argument);
  // Most scripts do not meet; those that do ask for the store.
  command.set_store(v1::RENDEZVOUS_STORE_NONE);
  return spec;
}

v1::JobSpec ShellSpec(const std::string& script) { return SpecOf({"sh", "-c", script}); }

v1::JobSpec PythonSpec(const std::string& script) { return SpecOf({"python3", "-c", script}); }

std::vector<RankRecord> RunRanks(const v1::JobSpec& spec, uint32_t world_size,
                                 const AttemptOptions& attempt) {
  return RunJob(TANDEM_COMMAND, spec, world_size, attempt);
}

RankRecord RunOne(const v1::JobSpec& spec) { return RunRanks(spec).front(); }

v1::Prepared StartAll(const std::vector<TestTrainer*>& ranks) {
  std::vector<v1::Prepared> prepared;
  for (TestTrainer* rank : ranks) prepared.push_back(rank->Await().prepared());
  for (TestTrainer* rank : ranks) rank->Start(prepared[0]);
  return prepared[0];
}

bool AwaitPhase(const TestTrainer& rank, v1::Phase phase) {
  return AwaitThat([&] { return rank.position().phase == phase; });
}

std::string NewMarker() {
  static std::atomic<int> count{0};
  return absl::StrCat("MARKER=", getpid(), "-", count++);
}

std::vector<pid_t> ProcessesOf(const std::string& marker) {
  std::vector<pid_t> processes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    if (absl::StrContains(Contents(entry.path() / "environ"), marker)) processes.push_back(pid);
  }
  return processes;
}

bool AwaitNoProcessOf(const std::string& marker) {
  return AwaitThat([&] { return ProcessesOf(marker).empty(); });
}

pid_t ParentOf(pid_t process) { return ReadProcessStat(process)->parent; }

pid_t ChildOf(pid_t process, const std::string& program) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const auto stat = ReadProcessStat(pid);
    const bool is_child = stat.has_value() && stat->parent == process;
    if (is_child && Contents(entry.path() / "comm") == program + "\n") return pid;
  }
  return 0;
}

bool AwaitGone(pid_t process) {
  return AwaitThat([process] { return !ReadProcessStat(process).has_value(); });
}

bool AwaitOutput(const TestTrainer& rank, const std::string& text) {
  return AwaitThat([&] { return absl::StrContains(rank.Output(), text); });
}

void MakeFile(const std::string& path) { const std::ofstream file(path); }

std::string AwaitLine(const std::string& path) {
  std::string line;
  AwaitThat([&] {
    std::ifstream file(path);
    return std::getline(file, line) && !file.eof();
  });
  return line;
}

std::vector<std::string> LossesOf(const RankRecord& record) {
  std::vector<std::string> losses;
  for (const v1::RankProgress& progress : record.messages) {
    for (const v1::StepSample& sample : progress.samples()) {
      losses.push_back(absl::StrCat(sample.step(), ":", sample.loss_sum(), "/", sample.count()));
    }
  }
  return losses;
}

}  // namespace tandem::command
