// The port on which the ranks meet, where the program of rank 0 binds it itself.
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/held_port.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLoopback[] = "127.0.0.1";

// `bind` takes MASTER_PORT as c10d does.
constexpr char kBinding[] = R"(
import os, socket, sys, time
def bind():
    server = socket.create_server(("", int(os.environ["MASTER_PORT"])))
    return server
)";

v1::JobSpec Binding(const std::string& script) {
  return PythonSpec(absl::StrCat(kBinding, script));
}

TEST(MasterPort, StoreNone_IsHeldUntilTheProgramBindsIt) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(Binding("bind(); print('bound')"), 0, 1));
  const v1::Prepared prepared = rank.Await().prepared();
  const auto port = static_cast<uint16_t>(prepared.master_port());
  EXPECT_EQ(ListenOn(kLoopback, port).status().code(), absl::StatusCode::kAlreadyExists);
  rank.Start(prepared);
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output, HasSubstr("bound\n"));
  EXPECT_TRUE(ListenOn(kLoopback, port).ok());
}

TEST(MasterPort, StoreNoneAndSomebodyIsFaster_IsPortTakenAndNamesWho) {
  const TemporaryFolder folder = *TemporaryFolder::Create("clash");
  v1::JobSpec spec = Binding(R"(
print("runs", flush=True)
while not os.path.exists(os.environ["GATE"]): time.sleep(0.001)
bind()
)");
  spec.mutable_command()->add_env(absl::StrCat("GATE=", folder.File("gate")));
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(spec, 0, 1));
  const v1::Prepared prepared = StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  const auto taken = ListenOn(kLoopback, static_cast<uint16_t>(prepared.master_port()));
  ASSERT_TRUE(taken.ok());
  MakeFile(folder.File("gate"));
  const RankRecord record = Record(rank);
  EXPECT_EQ(record.exit_code, 1);
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_PORT_TAKEN);
  EXPECT_THAT(record.failure->message(),
              HasSubstr(absl::StrCat("port ", prepared.master_port(), " taken by pid ", getpid())));
  EXPECT_THAT(record.output, HasSubstr("OSError"));
}

// As torchelastic's `record` does with an exception.
constexpr char kRecording[] = R"(
import json
print("runs", flush=True)
while not os.path.exists(os.environ["GATE"]): time.sleep(0.001)
try: bind()
except OSError as error:
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": f"OSError: {error}", "extraInfo": {"py_callstack": "a stack"}}}, file)
    sys.exit(1)
)";

TEST(MasterPort, StoreNoneAndTheProgramRecordsItsException_IsPortTakenAllTheSame) {
  const TemporaryFolder folder = *TemporaryFolder::Create("clash");
  v1::JobSpec spec = Binding(kRecording);
  spec.mutable_command()->add_env(absl::StrCat("GATE=", folder.File("gate")));
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(spec, 0, 1));
  const v1::Prepared prepared = StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  const auto taken = ListenOn(kLoopback, static_cast<uint16_t>(prepared.master_port()));
  ASSERT_TRUE(taken.ok());
  MakeFile(folder.File("gate"));
  const RankRecord record = Record(rank);
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_PORT_TAKEN);
  EXPECT_THAT(record.failure->message(), HasSubstr(absl::StrCat("taken by pid ", getpid())));
  EXPECT_THAT(record.failure->last_lines(), ElementsAre("a stack"));
}

TEST(MasterPort, StoreNoneAndTheProgramGotOverATakenPort_FailsOfSomethingElse) {
  const RankRecord record = RunOne(Binding(R"(
print("Address already in use, trying the next one", file=sys.stderr)
for line in range(100): print("step", line, file=sys.stderr)
sys.exit(3)
)"));
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_FALSE(record.failure.has_value());
}

TEST(MasterPort, PinnedAndTaken_IsPortTakenAndNamesWho) {
  const auto taken = ListenOn(kLoopback, 0);
  for (const v1::RendezvousStore store : {v1::RENDEZVOUS_STORE_NONE, v1::RENDEZVOUS_STORE_HOSTED}) {
    v1::JobSpec spec = ShellSpec("true");
    spec.mutable_command()->set_store(store);
    spec.mutable_command()->set_master_port(taken->port);
    TestTrainer rank(TANDEM_COMMAND, PrepareFor(spec, 0, 1));
    const v1::RankFailure failure = rank.Await().failure();
    EXPECT_EQ(failure.code(), v1::CAUSE_CODE_PORT_TAKEN);
    EXPECT_THAT(failure.message(),
                HasSubstr(absl::StrCat("port ", taken->port, " is taken by pid ", getpid())));
    EXPECT_EQ(rank.AwaitExit(), 1);
  }
}

TEST(MasterPort, PinnedAndTakenButAnyWillDo_IsAnotherOneAndSaysSo) {
  const auto taken = ListenOn(kLoopback, 0);
  v1::JobSpec spec = Binding("bind()");
  spec.mutable_command()->set_master_port(taken->port);
  spec.mutable_command()->set_any_port(true);
  const RankRecord record = RunOne(spec);
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output,
              HasSubstr(absl::StrCat("port ", taken->port, " is taken by pid ", getpid())));
}

TEST(MasterPort, PinnedAndFree_IsTheOneInEachAttempt) {
  const uint16_t port = ListenOn(kLoopback, 0)->port;
  // Whoever accepts closes first: that leaves a connection behind.
  v1::JobSpec spec = Binding(R"(
server = bind()
client = socket.create_connection(("127.0.0.1", int(os.environ["MASTER_PORT"])))
server.accept()[0].close()
client.recv(1)
print("met at", os.environ["MASTER_PORT"])
)");
  spec.mutable_command()->set_master_port(port);
  for (const uint32_t attempt : {1U, 2U, 3U}) {
    const RankRecord record = RunRanks(spec, 1, {.number = attempt}).front();
    EXPECT_THAT(record.output, HasSubstr(absl::StrCat("met at ", port, "\n")));
    EXPECT_EQ(record.exit_code, 0);
  }
}

}  // namespace
}  // namespace tandem::command
