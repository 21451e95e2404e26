// Jobs that are programs of their users, on the real binaries: what they are given, how they end, and that nothing of
// them is left.
#include <signal.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// What a script does to report, as its own author would write it.
constexpr const char* kReporting = R"(
import json, os, signal, sys, time
rank, world = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
def report(step, loss_sum, count):
    line = json.dumps({'step': step, 'loss_sum': loss_sum, 'count': count}) + '\n'
    os.write(int(os.environ['TANDEM_REPORT_FD']), line.encode())
)";

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() { cluster_.StartCoordinator(); }

  void StartWorker(int slots, std::vector<std::string> flags = {}) {
    flags.push_back("--allow-commands");
    cluster_.StartWorker(slots, {flags, {}});
  }

  // `keys`: what the specification says besides, one a line; `command`: keys below command.
  std::string Submit(const std::string& script, const std::string& keys = "workers: 2",
                     const std::vector<std::string>& command = {}) {
    const std::string name = absl::StrCat("script-", ++scripts_, ".py");
    WriteFile(cluster_.folder() + "/" + name, absl::StrCat(kReporting, script));
    return cluster_.Submit(absl::StrCat("name: script\n", keys, "\ncommand:\n  argv: [python3, ",
                                        name, "]\n", absl::StrJoin(command, "", Indented)));
  }

  std::string Logs(const std::string& id) { return cluster_.Tandem({"logs", id}).out; }
  static std::vector<pid_t> ProcessesOf(const std::string& id) {
    return ProcessesWith("TANDEM_JOB_ID=" + id);
  }
  void ExpectNothingIsLeftOf(const std::string& id) { EXPECT_THAT(ProcessesOf(id), IsEmpty()); }

  Cluster cluster_;

 private:
  static void Indented(std::string* out, const std::string& line) {
    absl::StrAppend(out, "  ", line, "\n");
  }

  int scripts_ = 0;
};

TEST_F(ProgramsTest, Ranks_GetTheEnvironmentOfTorchrun) {
  StartWorker(2);
  StartWorker(1);
  const std::string id = Submit(R"(
names = ('RANK LOCAL_RANK GROUP_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE '
         'TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_USE_AGENT_STORE OMP_NUM_THREADS')
print(' '.join(os.environ[name] for name in names.split()))
assert os.environ['TORCHELASTIC_RUN_ID'] == os.environ['TANDEM_JOB_ID']
assert os.environ['MASTER_ADDR'] == '127.0.0.1' and int(os.environ['MASTER_PORT']) > 0
assert os.environ['CUDA_VISIBLE_DEVICES'] == '' and os.environ['GREETING'] == 'hello'
assert os.path.exists('script-1.py')
)",
                                "workers: 3\nthreads_per_rank: 2", {"env: {GREETING: hello}"});
  const v1::Job job = cluster_.WaitUntilEnded(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.cause().DebugString() << Logs(id);
  const std::string logs = Logs(id);
  EXPECT_THAT(
      logs, AllOf(HasSubstr("0 0 0 3 2 2 0 3 0 3 True 2"), HasSubstr("1 1 0 3 2 2 1 3 0 3 True 2"),
                  HasSubstr("2 0 1 3 1 2 2 3 0 3 True 2")));
}

TEST_F(ProgramsTest, WorkerThatDoesNotAllowCommands_RunsNone) {
  cluster_.StartWorker(2);
  const std::string id = Submit("");
  const v1::Job job =
      cluster_.WaitFor(id, [](const v1::Job& job) { return !job.waiting_reason().empty(); });
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_THAT(job.waiting_reason(), HasSubstr("--allow-commands"));
  StartWorker(2);
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(ProgramsTest, RanksWithUnevenShards_TheMeanIsOverAllSamples) {
  StartWorker(2);
  // One sample of loss 4, and three of loss 1: 7 / 4, where a mean of means is 2.5.
  const std::string id = Submit("for step in range(1, 101): report(step, *[(4, 1), (3, 3)][rank])");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.cause().DebugString() << Logs(id);
  EXPECT_EQ(job.loss(), 1.75);
  const std::vector<v1::StepSample> history = cluster_.History(id);
  ASSERT_THAT(history, SizeIs(100));
  for (size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i].step(), i + 1);
    EXPECT_EQ(history[i].loss_sum(), 7);
    EXPECT_EQ(history[i].count(), 4U);
  }
}

TEST_F(ProgramsTest, LossInWhatRank0Prints_IsFound) {
  StartWorker(2);
  const std::string id =
      Submit("for step in range(1, 6): print(f'[{rank}] step {step * 10}: loss = {1 / step}')",
             "workers: 2", {R"(parse: {loss: 'loss = ([0-9.]+)', step: 'step ([0-9]+)'})"});
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.step(), 50U);
  EXPECT_EQ(job.loss(), 0.2);
  EXPECT_THAT(cluster_.History(id), SizeIs(5));
  EXPECT_THAT(Logs(id), AllOf(HasSubstr("[0] step 50: loss = 0.2"), HasSubstr("[1] step 50")));
}

TEST_F(ProgramsTest, ExceptionOnRank1_IsTheCauseAndItsTracebackIsShown) {
  StartWorker(2);
  const std::string id = Submit(R"(
report(1, 1, 1)
if rank == 1: raise ValueError('no such column')
time.sleep(600)
)",
                                "workers: 2\nrestart: {max: 0}");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.cause().rank(), 1U);
  EXPECT_EQ(job.cause().exit_code(), 1);
  EXPECT_THAT(job.cause().message(), HasSubstr("ValueError: no such column"));
  EXPECT_THAT(cluster_.Tandem({"describe", id}).out, HasSubstr("raise ValueError('no such"));
  ExpectNothingIsLeftOf(id);
}

TEST_F(ProgramsTest, KilledBySignal_IsSaid) {
  StartWorker(2);
  const std::string id =
      Submit("if rank == 0: os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(600)",
             "workers: 2\nrestart: {max: 0}");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.cause().rank(), 0U);
  EXPECT_EQ(job.cause().signal(), SIGSEGV);
  ExpectNothingIsLeftOf(id);
}

TEST_F(ProgramsTest, RankThatFallsBehind_IsNamedAsHung) {
  StartWorker(2);
  const std::string id = Submit(R"(
for step in range(1, 4): report(step, 1, 1)
if rank == 0: report(4, 1, 1)
time.sleep(600)
)",
                                "workers: 2\nhang_timeout: 1s\nrestart: {max: 0}");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_HUNG) << job.cause().DebugString();
  EXPECT_THAT(job.cause().message(), HasSubstr("rank 1 of 2"));
  EXPECT_THAT(Logs(id), HasSubstr("-- end of stacks --"));
  ExpectNothingIsLeftOf(id);
}

TEST_F(ProgramsTest, ProgramThatIgnoresSigterm_IsKilledAfterItsGrace) {
  StartWorker(2);
  const std::string id = Submit(R"(
signal.signal(signal.SIGTERM, signal.SIG_IGN)
report(1, 1, 1)
time.sleep(600)
)",
                                "workers: 2", {"stop_grace: 300ms"});
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() == 1; });
  EXPECT_EQ(cluster_.Tandem({"cancel", id}).exit_code, 0);
  EXPECT_EQ(cluster_.WaitUntilEnded(id, absl::Seconds(10)).state(), v1::JOB_STATE_CANCELLED);
  ExpectNothingIsLeftOf(id);
}

TEST_F(ProgramsTest, ProgramThatSavesOnSigterm_HasTheTime) {
  StartWorker(1);
  const std::string id = Submit(R"(
def save(*_):
    time.sleep(1)
    print('saved')
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
report(1, 1, 1)
time.sleep(600)
)",
                                "workers: 1", {"stop_grace: 1m"});
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() == 1; });
  EXPECT_EQ(cluster_.Tandem({"cancel", id}).exit_code, 0);
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(Logs(id), HasSubstr("saved"));
}

TEST_F(ProgramsTest, ChildrenThatOutliveTheirProgram_AreKilled) {
  StartWorker(2);
  const std::string id = Submit(R"(
import subprocess
subprocess.Popen(['sleep', '600'])
subprocess.Popen(['sleep', '600'], start_new_session=True)
subprocess.run(['sh', '-c', 'setsid sleep 600 & exit 0'])
)");
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_SUCCEEDED) << Logs(id);
  ExpectNothingIsLeftOf(id);
}

TEST_F(ProgramsTest, AgentKilled_NothingIsLeft) {
  StartWorker(2);
  const std::string id = Submit(R"(
import subprocess
subprocess.Popen(['sleep', '600'], start_new_session=True)
report(1, 1, 1)
time.sleep(600)
)");
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() == 1; });
  EXPECT_THAT(ProcessesOf(id), Not(IsEmpty()));
  cluster_.worker(0).Signal(SIGKILL);
  EXPECT_TRUE(Eventually(absl::Seconds(5), [&] { return ProcessesOf(id).empty(); }));
}

TEST_F(ProgramsTest, MuchOutput_LogsAreCappedAndHaveTheEnd) {
  StartWorker(1, {"--log-cap-bytes", "1000000"});
  const std::string id = Submit(R"(
line = 'x' * 99 + '\n'
for _ in range(10): sys.stdout.write(line * 100000)
print('the end')
)",
                                "workers: 1");
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_SUCCEEDED);
  const std::string logs = Logs(id);
  EXPECT_LT(logs.size(), 70U << 20);
  EXPECT_THAT(logs.substr(logs.size() - std::min<size_t>(logs.size(), 1000)), HasSubstr("the end"));
}

TEST_F(ProgramsTest, EachRestart_HasItsNumberAndAPortOfItsOwn) {
  StartWorker(2);
  const std::string id = Submit(R"(
print('attempt', os.environ['TANDEM_ATTEMPT'], 'restart', os.environ['TORCHELASTIC_RESTART_COUNT'],
      'port', os.environ['MASTER_PORT'])
sys.exit(3 if os.environ['TORCHELASTIC_RESTART_COUNT'] != '2' else 0)
)",
                                "workers: 2\nrestart: {max: 2, backoff: 100ms}");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  EXPECT_EQ(job.attempt(), 3U);
  const std::string logs = Logs(id);
  for (const char* text : {"attempt 1 restart 0", "attempt 2 restart 1", "attempt 3 restart 2"}) {
    EXPECT_THAT(logs, HasSubstr(text));
  }
  EXPECT_EQ(job.attempts(0).cause().exit_code(), 3);
}

std::string StoreRank(const std::string& keys, const std::string& arguments = "") {
  return absl::StrCat("name: store\n", keys, "\ncommand: {argv: [", TestBinary("store-rank"),
                      arguments, "]}\n");
}

TEST_F(ProgramsTest, RanksThatStartAgain_MeetAgainAtOnce) {
  StartWorker(2);
  const std::string id =
      cluster_.Submit(StoreRank("workers: 2\nrestart: {max: 2, backoff: 0s}", ", '3'"));
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString() << Logs(id);
  EXPECT_EQ(job.attempt(), 3U);
  std::vector<std::string> lines = absl::StrSplit(Logs(id), '\n');
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.find("met 2 of 2") != std::string::npos;
                          }),
            6);
}

TEST_F(ProgramsTest, TwentyJobsAtOnce_AllFinishAndNoneMeetsAnother) {
  constexpr int kJobs = 20;
  StartWorker(2 * kJobs);
  std::vector<std::string> ids;
  for (int i = 0; i < kJobs; ++i) {
    ids.push_back(cluster_.Submit(StoreRank("workers: 2\nrestart: {max: 0}")));
  }
  std::set<uint32_t> ports;
  for (const std::string& id : ids) {
    const v1::Job job = cluster_.WaitUntilEnded(id, absl::Minutes(2));
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.cause().DebugString() << Logs(id);
    ports.insert(job.master_port());
  }
  EXPECT_THAT(ports, SizeIs(kJobs));
}

// It goes on from what it has saved itself.
TEST_F(ProgramsTest, ResizedOnTheWay_SavesStopsAndGoesOn) {
  StartWorker(2);
  const std::string id = Submit(R"(
import select
path = os.environ['TANDEM_CHECKPOINT_DIR'] + '/step'
step = int(open(path).read()) if os.path.exists(path) else 0
fd = int(os.environ['TANDEM_REPORT_FD'])
while step < 2000:
    step += 1
    report(step, 1, 1)
    if select.select([fd], [], [], 0.001)[0] and b'stop' in os.read(fd, 1000):
        if rank == 0: open(path, 'w').write(str(step))
        sys.exit(0)
)",
                                "workers: 1\nlogical_ranks: 2\ncheckpoint: {dir: saved}");
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() > 20; });
  EXPECT_EQ(cluster_.Tandem({"resize", id, "2"}).exit_code, 0);
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString() << Logs(id);
  EXPECT_EQ(job.world_size(), 2U);
  EXPECT_EQ(job.attempts(0).cause().code(), v1::CAUSE_CODE_RESIZED);
  EXPECT_GT(job.first_step(), 20U);
  EXPECT_THAT(cluster_.History(id), SizeIs(2000));
}

TEST_F(ProgramsTest, CoordinatorKilled_ProgramsGoOnAndNoReportIsLost) {
  StartWorker(2);
  const std::string id = Submit(R"(
for step in range(1, 301):
    report(step, 1, 1)
    time.sleep(0.01)
)");
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() > 20; });
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  EXPECT_EQ(job.attempt(), 1U);
  EXPECT_THAT(cluster_.History(id), SizeIs(300));
}

TEST_F(ProgramsTest, ProgramThatIsNotThere_IsBadInputAndNotTriedAgain) {
  StartWorker(1);
  const std::string id = cluster_.Submit("name: none\ncommand: {argv: [no-such-program]}");
  const v1::Job job = cluster_.WaitUntilEnded(id);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(job.cause().message(), HasSubstr("no-such-program"));
  EXPECT_EQ(job.attempt(), 1U);
}

}  // namespace
}  // namespace tandem::testing
