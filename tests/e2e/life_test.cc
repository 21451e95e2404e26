// A job's life on the real binaries, as a user sees it through `tandem`.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kLong[] = "steps: 1000000";

FileDescriptor Listen(int port) {
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  listen(fd.get(), 1);
  return fd;
}

std::string HttpGet(const std::string& url, const std::string& folder) {
  Process curl(
      {{"curl", "--silent", "--show-error", "--fail", "--max-time", "10", url}, {}, folder});
  EXPECT_EQ(curl.Wait(absl::Seconds(15)), 0) << curl.Stderr();
  return curl.Stdout();
}

class LifeTest : public ::testing::Test {
 protected:
  LifeTest() { cluster_.StartCoordinator(); }

  Cluster cluster_;
};

TEST_F(LifeTest, EveryCommand_TwoWorkers_TellsTheSameJob) {
  cluster_.StartWorker(1);
  cluster_.StartWorker(1);
  const std::string id = cluster_.Submit(DigitsSpec());
  EXPECT_THAT(id, Not(HasSubstr("\n")));

  EXPECT_EQ(cluster_.Tandem({"wait", id}).exit_code, 0);
  EXPECT_THAT(cluster_.Tandem({"list"}).out, AllOf(HasSubstr(id), HasSubstr("SUCCEEDED")));
  EXPECT_THAT(cluster_.Tandem({"status", id}).out, HasSubstr("SUCCEEDED"));
  EXPECT_THAT(cluster_.Tandem({"workers"}).out,
              AllOf(HasSubstr("worker-0"), HasSubstr("worker-1")));

  const v1::Job job = cluster_.GetJob(id);
  EXPECT_THAT(cluster_.Tandem({"describe", id}).out, HasSubstr(job.parameter_digest()));
  EXPECT_EQ(job.step(), 30U);
  EXPECT_GT(job.master_port(), 0U);
  EXPECT_THAT(job.ranks(), SizeIs(2));
  EXPECT_THAT(cluster_.History(id), SizeIs(30));

  const std::string logs = cluster_.Tandem({"logs", id, "--rank", "1"}).out;
  EXPECT_THAT(logs, HasSubstr("1 of 2, local rank"));
  EXPECT_THAT(logs, HasSubstr("LibTorch"));

  const CommandResult json = cluster_.Tandem({"status", id, "-o", "json"});
  v1::Job parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &parsed).ok()) << json.out;
  EXPECT_EQ(parsed.parameter_digest(), job.parameter_digest());
  for (const char* key :
       {"\"id\"", "\"name\"", "\"state\"", "\"attempt\"", "\"worldSize\"", "\"logicalRanks\"",
        "\"step\"", "\"epoch\"", "\"loss\"", "\"parameterDigest\"", "\"masterPort\"", "\"ranks\"",
        "\"waitingReason\""}) {
    EXPECT_THAT(json.out, HasSubstr(key));
  }
}

TEST_F(LifeTest, TwentyJobsAtOnce_UsualPortsTaken_AllSucceed) {
  std::vector<FileDescriptor> taken;
  for (int port = 29400; port <= 29600; ++port) taken.push_back(Listen(port));
  ASSERT_FALSE(Listen(29400).valid());
  ASSERT_FALSE(Listen(29500).valid());
  cluster_.StartWorker(2);
  std::vector<std::unique_ptr<Process>> submits;
  WriteFile(cluster_.folder() + "/many.yaml", DigitsSpec("steps: 3"));
  for (int i = 0; i < 20; ++i) {
    submits.push_back(cluster_.StartTandem({"submit", cluster_.folder() + "/many.yaml"}));
  }
  for (auto& submit : submits) {
    ASSERT_EQ(submit->Wait(absl::Seconds(30)), 0) << submit->Stderr();
    const std::string id = submit->Stdout().substr(0, submit->Stdout().find('\n'));
    const v1::Job job = cluster_.WaitUntilEnded(id, absl::Seconds(120));
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  }
}

TEST_F(LifeTest, TwoJobsSideBySide_FourSlots_HoldDifferentPorts) {
  cluster_.StartWorker(4);
  const std::string a = cluster_.Submit(DigitsSpec(kLong));
  const std::string b = cluster_.Submit(DigitsSpec(kLong));
  const auto running = [](const v1::Job& job) { return job.step() > 0; };
  EXPECT_NE(cluster_.WaitFor(a, running).master_port(), cluster_.WaitFor(b, running).master_port());
}

TEST_F(LifeTest, TooFewSlots_WaitsAndSaysWhy_StartsWhenTheyCome) {
  cluster_.StartWorker(1);
  const std::string id = cluster_.Submit(DigitsSpec());
  const v1::Job waiting = cluster_.GetJob(id);
  EXPECT_EQ(waiting.state(), v1::JOB_STATE_QUEUED);
  EXPECT_THAT(waiting.waiting_reason(), HasSubstr("2 cpu slots"));
  cluster_.StartWorker(1);
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(LifeTest, CoordinatorStoppedAndStarted_FinishedJobQueuedJobAndLossSurvive) {
  cluster_.StartWorker(2);
  const std::string done = cluster_.Submit(DigitsSpec());
  const v1::Job before = cluster_.WaitUntilEnded(done);
  const std::string running = cluster_.Submit(DigitsSpec("steps: 3000"));
  cluster_.WaitFor(running, [](const v1::Job& job) { return job.step() > 0; });
  const std::string queued = cluster_.Submit(DigitsSpec("steps: 5"));
  cluster_.StopCoordinator();
  cluster_.StartCoordinator();

  const v1::Job after = cluster_.GetJob(done);
  EXPECT_EQ(after.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(after.loss(), before.loss());
  EXPECT_EQ(after.parameter_digest(), before.parameter_digest());
  EXPECT_THAT(cluster_.History(done), SizeIs(30));
  const v1::Job resumed = cluster_.WaitUntilEnded(running);
  EXPECT_EQ(resumed.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(resumed.attempt(), 1U) << "it went on all the while";
  EXPECT_THAT(cluster_.History(running), SizeIs(3000));
  EXPECT_EQ(cluster_.WaitUntilEnded(queued).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(LifeTest, CoordinatorKilled_SubmittedJobsAreNotLost) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(cluster_.Submit(DigitsSpec("steps: 3")));
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  cluster_.StartWorker(2);
  for (const std::string& id : ids) {
    EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_SUCCEEDED);
  }
}

TEST_F(LifeTest, Cancel_RunningJob_EndsItAndFreesTheSlots) {
  cluster_.StartWorker(2);
  const std::string id = cluster_.Submit(DigitsSpec(kLong));
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() > 0; });
  EXPECT_EQ(cluster_.Tandem({"cancel", id}).exit_code, 0);
  EXPECT_EQ(cluster_.WaitUntilEnded(id).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(cluster_.Tandem({"wait", id}).exit_code, 1);
  EXPECT_EQ(cluster_.WaitUntilEnded(cluster_.Submit(DigitsSpec())).state(),
            v1::JOB_STATE_SUCCEEDED);
}

TEST_F(LifeTest, Metrics_RunningJobThenEnded_SeriesAppearsAndIsRemoved) {
  cluster_.StartWorker(2);
  const std::string id = cluster_.Submit(DigitsSpec(kLong));
  cluster_.WaitFor(id, [](const v1::Job& job) { return job.step() > 0; });
  const std::string url = absl::StrCat("http://", cluster_.http_address(), "/metrics");
  const std::string series = absl::StrCat("job_id=\"", id, "\"");
  const std::string running = HttpGet(url, cluster_.folder());
  EXPECT_THAT(running, AllOf(HasSubstr("tandem_job_loss{"), HasSubstr(series),
                             HasSubstr("tandem_build_info{"), HasSubstr("tandem_attempts_total 1"),
                             HasSubstr("tandem_slots{state=\"busy\"} 2")));
  cluster_.Tandem({"cancel", id});
  cluster_.WaitUntilEnded(id);
  EXPECT_THAT(HttpGet(url, cluster_.folder()),
              AllOf(Not(HasSubstr(series)), HasSubstr("tandem_jobs{state=\"cancelled\"} 1")));
}

TEST_F(LifeTest, SecondCoordinatorOnSameStateOrPort_IsRefusedInOneLine) {
  for (const auto& [state, listen] :
       {std::pair(cluster_.folder() + "/state", std::string("127.0.0.1:0")),
        std::pair(cluster_.folder() + "/other", cluster_.grpc_address())}) {
    Process second(
        {{Binary("tandemd"), "--state-dir", state, "--listen", listen, "--http", "127.0.0.1:0"},
         {},
         cluster_.folder()});
    EXPECT_EQ(second.Wait(absl::Seconds(10)), 1);
    EXPECT_THAT(second.Stderr(), Not(HasSubstr("terminate")));
  }
}

TEST_F(LifeTest, CoordinatorUnreachable_ExitsThree) {
  cluster_.StopCoordinator();
  EXPECT_EQ(cluster_.Tandem({"list"}, absl::Seconds(10)).exit_code, 3);
}

}  // namespace
}  // namespace tandem::testing
