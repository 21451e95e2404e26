#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/file_descriptor.h"
#include "common/message_channel.h"
#include "common/progress_page.h"
#include "tandem/v1/trainer.pb.h"

// Drives the processes of ranks as an agent would, for tests.
namespace tandem {

// One process that speaks a trainer's protocol, in a process group of its own. Killed when this goes. Fatal to the
// test program where the system refuses.
class TestTrainer {
 public:
  TestTrainer(const std::string& binary, const v1::Prepare& prepare);
  ~TestTrainer();

  v1::TrainerToAgent Await();  // kind not set: the trainer closed its end
  void Start(uint32_t master_port);
  // With everything that rank 0 announced.
  void Start(const v1::Prepared& rank_0);
  void Pause();
  void CloseAgentEnd() { channel_.reset(); }
  void Terminate();  // SIGTERM to its group
  void Kill();
  // Blocks until the process is gone. Negative: the signal that ended it.
  int AwaitExit();

  pid_t pid() const { return pid_; }
  bool IsStopped() const;  // by SIGSTOP
  ProgressPage::Position position() const { return page_.Get(); }
  const ProgressPage& page() const { return page_; }
  std::set<pid_t> Threads() const;  // their ids
  std::string Output() const;       // stdout and stderr, so far

 private:
  v1::Prepare prepare_;
  ProgressPage page_;
  FileDescriptor output_;
  std::unique_ptr<MessageChannel> channel_;
  pid_t pid_ = -1;
};

// Runs a program to its end with these arguments; exit code and output.
struct Exited {
  int code = 0;
  std::string output;
};
Exited RunProgram(const std::string& binary, const std::vector<std::string>& arguments);

// All that one rank said.
struct RankRecord {
  uint64_t total_steps = 0;
  uint64_t steps_done = 0;  // in the checkpoint that it goes on from
  uint64_t receipt = 0;     // in the same
  std::vector<v1::RankProgress> messages;
  std::vector<std::string> samples;      // serialized StepSample, to compare bits
  std::vector<std::string> evaluations;  // serialized Evaluation
  std::string digest;
  std::optional<uint64_t> paused;  // the step that it says
  std::optional<v1::RankFailure> failure;
  int exit_code = 0;
  ProgressPage::Position position;
  std::string output;
};

// `kind`: of its slot.
v1::Prepare PrepareFor(const v1::JobSpec& spec, uint32_t rank, uint32_t world_size,
                       const std::string& kind = "cpu");
// Reads until the trainer closes its end, and waits for its exit.
RankRecord Record(TestTrainer& trainer);

struct AttemptOptions {
  uint32_t number = 1;
  // They are told before they start, so that it is sure which step is the last: the first one.
  std::set<uint32_t> paused_ranks = {};
  // Of the slots: "cpu".
  std::string kind = "cpu";
};
// Prepares, starts and records all ranks.
std::vector<RankRecord> RunJob(const std::string& binary, const v1::JobSpec& spec,
                               uint32_t world_size, const AttemptOptions& attempt = {});

}  // namespace tandem
