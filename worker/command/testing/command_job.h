#pragma once

#include <string>
#include <vector>

#include "tandem/v1/spec.pb.h"
#include "worker/process/testing/test_agent.h"

// Jobs with small scripts, for tests of tandem-command.
namespace tandem::command {

// With all defaults filled in.
v1::JobSpec SpecOf(const std::vector<std::string>& argv);
// Runs a script of sh or of python3, both without anything beyond what each system has.
v1::JobSpec ShellSpec(const std::string& script);
v1::JobSpec PythonSpec(const std::string& script);

// All ranks as one agent would, on a real tandem-command.
std::vector<RankRecord> RunRanks(const v1::JobSpec& spec, uint32_t world_size = 1,
                                 const AttemptOptions& attempt = {});
RankRecord RunOne(const v1::JobSpec& spec);

// Waits until all are prepared, the first of which is rank 0, and starts them.
v1::Prepared StartAll(const std::vector<TestTrainer*>& ranks);
// Blocks until the rank is there; false if it never comes there.
bool AwaitPhase(const TestTrainer& rank, v1::Phase phase);

// Those of the processes of this host whose environment says that they belong to the job, the tests' own
// tandem-command not counted. Empty soon after a job has ended.
std::vector<pid_t> ProcessesOf(const std::string& marker);
// Waits until there are none; false if there are some left after a while.
bool AwaitNoProcessOf(const std::string& marker);
// A variable for the environment of a job whose processes are looked for.
std::string NewMarker();

pid_t ParentOf(pid_t process);
// The child that runs the program of this name; 0: there is none.
pid_t ChildOf(pid_t process, const std::string& program);
// Blocks until the process is no more; false if it stays.
bool AwaitGone(pid_t process);
// Blocks until the output of the rank has the text; false if it never comes.
bool AwaitOutput(const TestTrainer& rank, const std::string& text);
// An empty one, for a script that waits for it.
void MakeFile(const std::string& path);
// Blocks until the file is there and has a line; that line.
std::string AwaitLine(const std::string& path);

// The losses that rank 0 told its agent, as "step:loss_sum/count".
std::vector<std::string> LossesOf(const RankRecord& record);

}  // namespace tandem::command
