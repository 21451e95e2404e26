// What programs report, from the descriptor to the agent.
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/frame.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tandem/v1/report.pb.h"
#include "worker/command/tcp_address.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

// `report` writes a line; RANK is the rank.
constexpr char kReporting[] = R"(
import json, os, select, sys, time
rank = int(os.environ["RANK"])
fd = int(os.environ["TANDEM_REPORT_FD"])
def report(**line): os.write(fd, (json.dumps(line) + "\n").encode())
)";

v1::JobSpec Reporting(const std::string& script) {
  return PythonSpec(absl::StrCat(kReporting, script));
}

TEST(Reports, UnevenShares_BecomeTheSumsOverAllRanks) {
  const auto records = RunRanks(Reporting(R"(
for step in range(1, 4):
    count = 3 if rank == 0 else 1
    report(step=step, loss_sum=step * count + rank, count=count, epoch=step // 2, lr=0.25)
)"),
                                2);
  EXPECT_THAT(LossesOf(records[0]), ElementsAre("1:5/4", "2:9/4", "3:13/4"));
  EXPECT_EQ(records[0].messages.back().samples().rbegin()->epoch(), 1U);
  EXPECT_EQ(records[0].messages.back().samples().rbegin()->learning_rate(), 0.25);
  EXPECT_THAT(records[1].messages, IsEmpty());
  for (const RankRecord& record : records) {
    EXPECT_EQ(record.exit_code, 0);
    EXPECT_EQ(record.position.step, 3U);
    EXPECT_EQ(record.position.phase, v1::PHASE_DONE);
  }
}

TEST(Reports, RankZeroEndsFirst_ItWaitsForTheLossesOfTheOthers) {
  const TemporaryFolder folder = *TemporaryFolder::Create("late");
  v1::JobSpec spec = Reporting(R"(
gate = os.environ["GATE"]
while rank == 1 and not os.path.exists(gate): time.sleep(0.001)
report(step=1, loss_sum=1, count=1)
if rank == 1: report(step=2, loss_sum=2, count=1)
)");
  spec.mutable_command()->add_env(absl::StrCat("GATE=", folder.File("gate")));
  TestTrainer zero(TANDEM_COMMAND, PrepareFor(spec, 0, 2));
  TestTrainer one(TANDEM_COMMAND, PrepareFor(spec, 1, 2));
  StartAll({&zero, &one});
  ASSERT_TRUE(AwaitPhase(zero, v1::PHASE_DONE));
  MakeFile(folder.File("gate"));
  EXPECT_THAT(LossesOf(Record(zero)), ElementsAre("1:2/2", "2:2/1"));
}

TEST(Reports, CombinedReports_CountOnceThoughEachRankSendsThem) {
  const auto records = RunRanks(
      Reporting("for step in (1, 2): report(step=step, loss_sum=6, count=4, combined=True)"), 3);
  EXPECT_THAT(LossesOf(records[0]), ElementsAre("1:6/4", "2:6/4"));
  EXPECT_THAT(records[0].output, Not(HasSubstr("said once")));
}

TEST(Reports, RankThatReportsNothing_IsNamedAndCountedWithout) {
  const TemporaryFolder folder = *TemporaryFolder::Create("silent");
  v1::JobSpec spec = Reporting(R"(
gate = os.environ["GATE"]
if rank == 0: report(step=1, loss_sum=8, count=2)
while not os.path.exists(gate): time.sleep(0.001)
)");
  spec.mutable_command()->add_env(absl::StrCat("GATE=", folder.File("gate")));
  TestTrainer zero(TANDEM_COMMAND, PrepareFor(spec, 0, 2));
  TestTrainer one(TANDEM_COMMAND, PrepareFor(spec, 1, 2));
  StartAll({&zero, &one});
  // Rank 1 neither reports nor ends before the loss is there.
  const v1::TrainerToAgent progress = zero.Await();
  ASSERT_EQ(progress.progress().samples_size(), 1);
  EXPECT_EQ(progress.progress().samples(0).loss_sum(), 8);
  EXPECT_TRUE(AwaitOutput(zero, "no loss was reported by rank 1 within 5s"));
  MakeFile(folder.File("gate"));
  EXPECT_EQ(zero.AwaitExit(), 0);
  EXPECT_EQ(one.AwaitExit(), 0);
}

TEST(Reports, BadLines_AreDescribedAndTheOthersCount) {
  const RankRecord record = RunOne(Reporting(R"(
report(step=1, loss_sum=1, count=1)
os.write(fd, b"step 2\n")
report(step=2, loss_sum="2", count=1)
report(step=2, loss_sum=float("nan"), count=1)
report(step=2, loss_sum=2, count=1)
os.write(fd, b'{"step": 3, "loss_sum": 3, "count": 1}')
)"));
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1/1", "2:nan/1", "3:3/1"));
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output, HasSubstr("does not count: it is not one JSON object: step 2\n"));
  EXPECT_THAT(record.output, HasSubstr("does not count: \"loss_sum\" must be a number: {"));
  EXPECT_THAT(record.output, HasSubstr("rank 0 reported step 2 after step 2"));
}

TEST(Reports, ManySteps_AreAllThereInFewMessages) {
  const RankRecord record = RunOne(Reporting(R"(
ids = list(range(2000))
for step in range(1, 3001): report(step=step, loss_sum=1, count=2000, samples=ids if step == 7 else [])
)"));
  EXPECT_THAT(LossesOf(record), SizeIs(3000));
  EXPECT_THAT(record.messages, SizeIs(Le(50)));
}

TEST(Reports, ProgramFails_LossesUntilThenAreThere) {
  // Rank 1 is never there.
  TestTrainer zero(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1); sys.exit(4)"), 0, 2));
  StartAll({&zero});
  const RankRecord record = Record(zero);
  EXPECT_EQ(record.exit_code, 4);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1/1"));
}

// Rank 0 waits for rank 1, which is never there, when it is told to end.
TEST(Reports, TerminatedWhileItWaitsForOthers_LossesUntilThenAreThere) {
  TestTrainer zero(TANDEM_COMMAND, PrepareFor(Reporting(R"(
for step in (1, 2): report(step=step, loss_sum=step, count=1, combined=True)
)"),
                                              0, 2));
  StartAll({&zero});
  ASSERT_TRUE(AwaitPhase(zero, v1::PHASE_DONE));
  zero.Terminate();
  const RankRecord record = Record(zero);
  EXPECT_EQ(record.exit_code, -SIGTERM);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1/1", "2:2/1"));
}

TEST(Reports, Pause_ProgramIsAskedToStopAndRankIsPaused) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(Reporting(R"(
report(step=1, loss_sum=1, count=1)
print("was told " + os.read(fd, 100).decode(), flush=True)
report(step=2, loss_sum=1, count=1)
)"),
                                              0, 1));
  StartAll({&rank});
  EXPECT_TRUE(rank.Await().has_progress());
  rank.Pause();
  rank.Pause();
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.paused, 2U);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output, HasSubstr("was told {\"stop\": true}\n\n"));
}

TEST(Reports, PauseOfAProgramThatFailsThen_IsAFailure) {
  const auto records =
      RunRanks(Reporting("os.read(fd, 100); sys.exit(5)"), 1, {.paused_ranks = {0}});
  EXPECT_EQ(records[0].exit_code, 5);
  EXPECT_FALSE(records[0].paused.has_value());
}

FileDescriptor ConnectTo(uint32_t port) {
  const auto address = ParseTcpAddress("127.0.0.1", static_cast<uint16_t>(port));
  FileDescriptor connection(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(connection.get(), address->get(), address->size), 0);
  return connection;
}

void SendTo(const FileDescriptor& connection, const std::string& bytes) {
  EXPECT_EQ(send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

std::string FramesOf(const std::string& job, uint32_t rank, const std::string& token) {
  v1::ToRankZero hello, report;
  hello.mutable_hello()->set_job_id(job);
  hello.mutable_hello()->set_attempt(1);
  hello.mutable_hello()->set_rank(rank);
  hello.mutable_hello()->set_token(token);
  report.mutable_report()->set_step(1);
  report.mutable_report()->set_loss_sum(1000);
  report.mutable_report()->set_count(1);
  std::string bytes;
  EXPECT_TRUE(AppendFrame(hello, &bytes).ok() && AppendFrame(report, &bytes).ok());
  return bytes;
}

TEST(Reports, Strangers_AreSentAwayAndChangeNothing) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 0, 1));
  const v1::Prepared prepared = rank.Await().prepared();
  const FileDescriptor garbage = ConnectTo(prepared.report_port());
  SendTo(garbage, std::string(8, '\xFF'));
  const FileDescriptor other_job = ConnectTo(prepared.report_port());
  SendTo(other_job, FramesOf("job-2", 0, prepared.report_token()));
  const FileDescriptor no_such_rank = ConnectTo(prepared.report_port());
  SendTo(no_such_rank, FramesOf("job-1", 7, prepared.report_token()));
  for (const FileDescriptor* stranger : {&garbage, &other_job, &no_such_rank}) {
    char byte;
    EXPECT_LE(recv(stranger->get(), &byte, 1, 0), 0);
  }
  rank.Start(prepared);
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1/1"));
}

// More than any queue between its messages and us takes.
TEST(Reports, StrangerWithManyEmptyMessages_IsSentAwayAndHoldsUpNothing) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 0, 1));
  const v1::Prepared prepared = rank.Await().prepared();
  const FileDescriptor stranger = ConnectTo(prepared.report_port());
  SendTo(stranger, std::string(size_t{64} << 10, '\0'));
  rank.Start(prepared);
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1/1"));
}

TEST(Reports, StrangerWhoKnowsJobAndRank_IsSentAwayWithoutTheToken) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 0, 2));
  TestTrainer other(TANDEM_COMMAND,
                    PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 1, 2));
  const v1::Prepared prepared = rank.Await().prepared();
  EXPECT_EQ(prepared.report_token().size(), 16U);
  const FileDescriptor stranger = ConnectTo(prepared.report_port());
  SendTo(stranger, FramesOf("job-1", 1, std::string(16, '\0')));
  char byte;
  EXPECT_LE(recv(stranger.get(), &byte, 1, 0), 0);
  other.Await();
  for (TestTrainer* one : {&rank, &other}) one->Start(prepared);
  EXPECT_THAT(LossesOf(Record(rank)), ElementsAre("1:2/2"));
  // Nor does anybody print it.
  EXPECT_THAT(rank.Output(), Not(HasSubstr(prepared.report_token())));
  EXPECT_EQ(other.AwaitExit(), 0);
}

TEST(Reports, RankThatSaysHelloTwice_IsNotWaitedFor) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 0, 2));
  const v1::Prepared prepared = rank.Await().prepared();
  const FileDescriptor other = ConnectTo(prepared.report_port());
  const std::string frames = FramesOf("job-1", 1, prepared.report_token());
  SendTo(other, frames + frames);
  char byte;
  EXPECT_LE(recv(other.get(), &byte, 1, 0), 0);
  rank.Start(prepared);
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(LossesOf(record), ElementsAre("1:1001/2"));
}

TEST(Reports, RankZeroCannotBeReached_JobGoesOn) {
  TestTrainer zero(TANDEM_COMMAND,
                   PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)"), 0, 2));
  TestTrainer one(
      TANDEM_COMMAND,
      PrepareFor(Reporting("report(step=1, loss_sum=1, count=1)\nprint('done')"), 1, 2));
  const v1::Prepared prepared = zero.Await().prepared();
  one.Await();
  v1::Prepared elsewhere = prepared;
  // Nobody listens there: it is bound only.
  elsewhere.set_report_port(prepared.master_port());
  one.Start(elsewhere);
  const RankRecord record = Record(one);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output, HasSubstr("rank 1 has no connection to rank 0"));
  EXPECT_THAT(record.output, HasSubstr("done\n"));
}

TEST(Parse, LossesInWhatRankZeroPrints_AreItsSteps) {
  v1::JobSpec spec = PythonSpec("for step in (1, 2): print(f'step {step}: loss {1 / step}')");
  spec.mutable_command()->mutable_parse()->set_loss("loss ([0-9.]+)");
  const auto records = RunRanks(spec, 2);
  EXPECT_THAT(LossesOf(records[0]), ElementsAre("1:1/1", "2:0.5/1"));
  EXPECT_THAT(records[0].output, HasSubstr("step 1: loss 1.0\nstep 2: loss 0.5\n"));
  EXPECT_THAT(LossesOf(records[1]), IsEmpty());
}

TEST(Parse, NoLossAnywhere_IsSaidAtTheEnd) {
  v1::JobSpec spec = PythonSpec("import sys; print('loss 1'); print('Loss: 2', file=sys.stderr)");
  spec.mutable_command()->mutable_parse()->set_loss("Loss: ([0-9.]+)");
  const auto records = RunRanks(spec, 1);
  EXPECT_THAT(LossesOf(records[0]), IsEmpty());
  EXPECT_THAT(records[0].output, HasSubstr("command.parse.loss is in no line"));
}

TEST(Parse, WrongExpression_IsBadInput) {
  v1::JobSpec spec = ShellSpec("true");
  spec.mutable_command()->mutable_parse()->set_loss("loss (");
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(spec, 0, 1));
  const v1::RankFailure failure = rank.Await().failure();
  EXPECT_EQ(failure.code(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(failure.message(), HasSubstr("command.parse.loss"));
}

}  // namespace
}  // namespace tandem::command
