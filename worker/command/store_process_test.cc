// The hosted store, as LibTorch's own client finds it.
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/held_port.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What torch.distributed does in a rank whose environment says TORCHELASTIC_USE_AGENT_STORE=True.
c10::intrusive_ptr<c10d::Store> Join(uint32_t port, uint32_t restart_count = 0) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.timeout = std::chrono::seconds(30);
  return c10::make_intrusive<c10d::PrefixStore>(
      absl::StrCat("/worker/attempt_", restart_count),
      c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options));
}

// Runs until it is killed, or until its gate is there.
v1::JobSpec Hosted(const std::string& script = "echo runs; sleep 600") {
  v1::JobSpec spec = ShellSpec(script);
  spec.mutable_command()->set_store(v1::RENDEZVOUS_STORE_HOSTED);
  return spec;
}

pid_t StoreOf(const TestTrainer& rank) {
  return ChildOf(ChildOf(rank.pid(), "tandem-command"), "tandem-store");
}

TEST(HostedStore, TwoRanks_MeetOnIt) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(Hosted(), 0, 1));
  const v1::Prepared prepared = StartAll({&rank});
  // At once: who comes before the store can answer waits.
  const auto zero = Join(prepared.master_port());
  const auto one = Join(prepared.master_port());
  zero->set("address", std::vector<uint8_t>{1, 2, 3});
  EXPECT_EQ(one->get("address"), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(zero->add("arrived", 1), 1);
  EXPECT_EQ(one->add("arrived", 1), 2);
}

TEST(HostedStore, AnotherAttempt_FindsNothingOfTheFirst) {
  const uint16_t port = ListenOn("127.0.0.1", 0)->port;
  v1::JobSpec spec = Hosted();
  spec.mutable_command()->set_master_port(port);
  for (const uint32_t attempt : {1U, 2U}) {
    v1::Prepare prepare = PrepareFor(spec, 0, 1);
    prepare.set_attempt(attempt);
    TestTrainer rank(TANDEM_COMMAND, prepare);
    ASSERT_EQ(StartAll({&rank}).master_port(), port);
    EXPECT_EQ(Join(port, attempt - 1)->add("arrived", 1), 1);
    rank.Terminate();
    EXPECT_EQ(rank.AwaitExit(), -SIGTERM);
  }
}

TEST(HostedStore, ProgramOfRankZeroHasEnded_OthersStillHaveTheStore) {
  const TemporaryFolder folder = *TemporaryFolder::Create("gate");
  v1::JobSpec spec = Hosted("test $RANK = 0 || while ! test -e $GATE; do sleep 0.01; done");
  spec.mutable_command()->add_env(absl::StrCat("GATE=", folder.File("gate")));
  TestTrainer zero(TANDEM_COMMAND, PrepareFor(spec, 0, 2));
  TestTrainer one(TANDEM_COMMAND, PrepareFor(spec, 1, 2));
  const v1::Prepared prepared = StartAll({&zero, &one});
  ASSERT_TRUE(AwaitPhase(zero, v1::PHASE_DONE));
  const pid_t store = StoreOf(zero);
  ASSERT_GT(store, 0);
  EXPECT_EQ(Join(prepared.master_port())->add("still there", 1), 1);
  MakeFile(folder.File("gate"));
  EXPECT_EQ(zero.AwaitExit(), 0);
  EXPECT_EQ(one.AwaitExit(), 0);
  EXPECT_TRUE(AwaitGone(store));
}

TEST(HostedStore, StoreDies_RankFailsAndSaysSo) {
  v1::JobSpec spec = Hosted();
  const std::string marker = NewMarker();
  spec.mutable_command()->add_env(marker);
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(spec, 0, 1));
  const v1::Prepared prepared = StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  const pid_t store = StoreOf(rank);
  ASSERT_GT(store, 0);
  kill(store, SIGKILL);
  const RankRecord record = Record(rank);
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(record.failure->message(),
              HasSubstr(absl::StrCat("(tandem-store, pid ", store, ") was killed by signal 9")));
  EXPECT_EQ(record.exit_code, 1);
  EXPECT_THAT(ProcessesOf(marker), IsEmpty());
}

TEST(HostedStore, RankIsKilled_StoreDoesNotOutliveIt) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(Hosted(), 0, 1));
  const v1::Prepared prepared = StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  const pid_t store = StoreOf(rank);
  ASSERT_GT(store, 0);
  rank.Kill();
  EXPECT_EQ(rank.AwaitExit(), -SIGKILL);
  EXPECT_TRUE(AwaitGone(store));
}

TEST(HostedStore, ProgramThatMentionsATakenPort_IsNotTakenAtItsWord) {
  const RankRecord record = RunOne(Hosted("echo Address already in use >&2; exit 1"));
  EXPECT_EQ(record.exit_code, 1);
  EXPECT_FALSE(record.failure.has_value());
}

TEST(HostedStore, TwentyJobsAtOnce_EachHasItsOwn) {
  constexpr int kJobs = 20;
  std::vector<std::unique_ptr<TestTrainer>> ranks;
  for (int job = 0; job < kJobs; ++job) {
    v1::Prepare prepare = PrepareFor(Hosted(), 0, 1);
    prepare.set_job_id(absl::StrCat("job-", job));
    ranks.push_back(std::make_unique<TestTrainer>(TANDEM_COMMAND, prepare));
  }
  std::vector<uint32_t> ports;
  for (const auto& rank : ranks) ports.push_back(StartAll({rank.get()}).master_port());
  std::vector<c10::intrusive_ptr<c10d::Store>> stores;
  for (int job = 0; job < kJobs; ++job) {
    stores.push_back(Join(ports[job]));
    EXPECT_EQ(stores.back()->add("arrived", 1), 1) << "job " << job << " shares its store";
  }
  for (int job = 0; job < kJobs; ++job) {
    EXPECT_EQ(stores[job]->add("arrived", 0), 1) << "somebody joined the store of job " << job;
    ranks[job]->Terminate();
    EXPECT_EQ(ranks[job]->AwaitExit(), -SIGTERM);
  }
}

}  // namespace
}  // namespace tandem::command
