#include "client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/follow.h"
#include "client/testing/dead_port.h"
#include "client/testing/fake_coordinator.h"

namespace tandem::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    Connection::Options options;
    options.address = coordinator_.address();
    connection_ = *Connection::Open(options);
    follow_.limits.interrupts = &interrupts_;
    follow_.backoff = {absl::Milliseconds(1), absl::Milliseconds(1), 1, 0};
  }

  absl::StatusOr<v1::Job> FollowJob() {
    return Follow(
        connection_.get(), "digits-1", follow_,
        [this](const v1::Job& job) {
          steps_.push_back(job.step());
          if (on_job_) on_job_();
        },
        [this](const std::string& line) { troubles_.push_back(line); });
  }

  static v1::Job JobAt(v1::JobState state, uint64_t step) {
    v1::Job job = MakeJob("digits-1", state);
    job.set_step(step);
    return job;
  }

  FakeCoordinator coordinator_;
  std::unique_ptr<Connection> connection_;
  Interrupts interrupts_;
  FollowOptions follow_;
  std::function<void()> on_job_;
  std::vector<uint64_t> steps_;
  std::vector<std::string> troubles_;
};

const grpc::Status kAway(grpc::StatusCode::UNAVAILABLE, "stopping");

TEST_F(ConnectionTest, Submit_SendsTheSpecWithARequestIdOfItsOwn) {
  v1::JobSpec spec;
  spec.set_name("digits");
  ASSERT_TRUE(connection_->Submit(spec).ok());
  ASSERT_TRUE(connection_->Submit(spec).ok());
  const auto submitted = coordinator_.submitted();
  ASSERT_EQ(submitted.size(), 2u);
  EXPECT_EQ(submitted[0].spec().name(), "digits");
  EXPECT_NE(submitted[0].request_id(), "");
  EXPECT_NE(submitted[0].request_id(), submitted[1].request_id());
}

TEST_F(ConnectionTest, RefusedSubmission_KeepsCodeAndMessage) {
  coordinator_.submit_status = {grpc::StatusCode::INVALID_ARGUMENT, "steps: required"};
  const auto job = connection_->Submit(v1::JobSpec());
  EXPECT_EQ(job.status(), absl::InvalidArgumentError("steps: required"));
}

TEST_F(ConnectionTest, UnknownJob_IsNotFound) {
  EXPECT_EQ(connection_->Get("nobody").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(connection_->Resolve("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ConnectionTest, Jobs_AreReadPageByPage) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    coordinator_.jobs.push_back(MakeJob(id, v1::JOB_STATE_QUEUED));
  }
  coordinator_.jobs_page = 2;
  const auto jobs = connection_->ListJobs();
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->jobs_size(), 5);
  EXPECT_EQ(jobs->jobs(4).id(), "e");
  EXPECT_EQ(jobs->next_page_token(), "");
  EXPECT_EQ(*connection_->Resolve("e"), "e");
}

TEST_F(ConnectionTest, ResizeAndDrain_SayWhatTheyChanged) {
  coordinator_.jobs = {MakeJob("digits-1", v1::JOB_STATE_RUNNING)};
  coordinator_.workers.emplace_back().set_name("node-a");
  EXPECT_EQ(connection_->Resize("digits-1", 1, 4)->resized_max(), 4u);
  EXPECT_EQ(connection_->Resize("nobody", 1, 4).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(connection_->Drain("node-a", false)->draining());
  EXPECT_FALSE(connection_->Drain("node-a", true)->draining());
  EXPECT_EQ(connection_->Drain("nobody", false).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ConnectionTest, History_IsReadPageByPage) {
  for (uint64_t step = 1; step <= 5; ++step) {
    coordinator_.samples.emplace_back();
    coordinator_.samples.back().set_step(step);
  }
  const auto history = connection_->History("digits-1");
  ASSERT_TRUE(history.ok());
  ASSERT_EQ(history->samples_size(), 5);
  EXPECT_EQ(history->samples(4).step(), 5u);
  EXPECT_EQ(history->next_step(), 0u);
}

TEST_F(ConnectionTest, Logs_AreReadInOrderUntilTheReaderHasEnough) {
  for (uint32_t rank = 0; rank < 4; ++rank) {
    coordinator_.logs.emplace_back();
    coordinator_.logs.back().set_rank(rank);
  }
  Connection::StreamLimits limits;
  limits.interrupts = &interrupts_;
  std::vector<uint32_t> ranks;
  const absl::Status status =
      connection_->ReadLogs(v1::StreamLogsRequest(), limits, [&](const auto& response) {
        ranks.push_back(response.lines(0).rank());
        return ranks.size() < 2;
      });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_THAT(ranks, ElementsAre(0, 1));
}

TEST_F(ConnectionTest, Follow_ReturnsTheFinalState) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1), JobAt(v1::JOB_STATE_SUCCEEDED, 2)}}};
  const auto job = FollowJob();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(steps_, ElementsAre(1, 2));
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(ConnectionTest, Follow_CoordinatorRestarts_GoesOnAndSaysSoOnce) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, kAway},
                          {{}, kAway},
                          {{}, kAway},
                          {{JobAt(v1::JOB_STATE_SUCCEEDED, 2)}}};
  const auto job = FollowJob();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(steps_, ElementsAre(1, 2));
  EXPECT_THAT(troubles_,
              ElementsAre(HasSubstr("does not answer; trying again for 1m"), HasSubstr("is back")));
}

TEST_F(ConnectionTest, Follow_StreamClosedBeforeTheEnd_CountsAsARestart) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}},
                          {{JobAt(v1::JOB_STATE_SUCCEEDED, 2)}}};
  EXPECT_TRUE(FollowJob().ok());
}

TEST_F(ConnectionTest, Follow_StreamCancelledByAStoppingCoordinator_CountsAsARestart) {
  coordinator_.watches = {
      {{JobAt(v1::JOB_STATE_RUNNING, 1)}, {grpc::StatusCode::CANCELLED, "CANCELLED"}},
      {{JobAt(v1::JOB_STATE_SUCCEEDED, 2)}}};
  const auto job = FollowJob();
  EXPECT_TRUE(job.ok()) << job.status();
}

TEST_F(ConnectionTest, Follow_WithoutPatience_FailsAtOnce) {
  follow_.patience = absl::ZeroDuration();
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, kAway},
                          {{JobAt(v1::JOB_STATE_SUCCEEDED, 2)}}};
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(ConnectionTest, Follow_JobForgottenByRestart_IsNotFound) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, kAway}};
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ConnectionTest, Follow_Interrupted_LeavesAtOnce) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, grpc::Status::OK, true}};
  on_job_ = [this] { interrupts_.Notify(); };
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, Follow_InterruptedBefore_IsNotMissed) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, grpc::Status::OK, true}};
  interrupts_.Notify();
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, Follow_InterruptDealtWith_GoesOn) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_CANCELLED, 1)}}};
  interrupts_.Notify();
  follow_.limits.handled = 1;
  EXPECT_TRUE(FollowJob().ok());
}

TEST_F(ConnectionTest, Follow_InterruptedWhileWaitingForTheCoordinator_Leaves) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, kAway}};
  follow_.backoff = {absl::Hours(1), absl::Hours(1), 1, 0};
  on_job_ = [this] { interrupts_.Notify(); };
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, Follow_DeadlinePassed_IsDeadlineExceeded) {
  coordinator_.watches = {{{JobAt(v1::JOB_STATE_RUNNING, 1)}, grpc::Status::OK, true}};
  follow_.limits.deadline = absl::Now() + absl::Milliseconds(50);
  EXPECT_EQ(FollowJob().status().code(), absl::StatusCode::kDeadlineExceeded);
}

// A port that is taken, of which every connection is refused until somebody listens.
class ConnectionOpenTest : public testing::Test {
 protected:
  ConnectionOpenTest() {
    options_.address = port_.address();
    options_.on_retry = [this](const std::string& line) {
      told_.push_back(line);
      if (on_retry_) on_retry_();
    };
  }

  DeadPort port_{false};
  Connection::Options options_;
  std::function<void()> on_retry_;
  std::vector<std::string> told_;
};

TEST_F(ConnectionOpenTest, NobodyListens_IsTriedAgainForAWhileAndSaysSoOnce) {
  options_.retry_for = absl::Milliseconds(300);
  const absl::Time before = absl::Now();
  EXPECT_EQ(Connection::Open(options_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GE(absl::Now() - before, options_.retry_for);
  EXPECT_THAT(told_, ElementsAre(HasSubstr(port_.address() + " yet; trying again for 300ms")));
}

TEST_F(ConnectionOpenTest, CoordinatorThatStartsMeanwhile_IsReached) {
  options_.retry_for = absl::Minutes(1);
  std::unique_ptr<FakeCoordinator> coordinator;
  // Both bind the port with SO_REUSEPORT; only the one that listens is connected to.
  on_retry_ = [&] { coordinator = std::make_unique<FakeCoordinator>(port_.port()); };
  const auto connection = Connection::Open(options_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE((*connection)->ListJobs().ok());
}

TEST_F(ConnectionOpenTest, NobodyListensAndNoTimeIsGiven_FailsAtOnceWithoutAWord) {
  EXPECT_EQ(Connection::Open(options_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ConnectionOpenTest, ListenerThatNeverAnswers_IsNotOneThatIsYetToStart) {
  const DeadPort silent(true);
  options_.address = silent.address();
  options_.retry_for = absl::Hours(1);
  options_.connect_timeout = absl::Milliseconds(300);
  EXPECT_EQ(Connection::Open(options_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(told_.empty());
}

TEST(ConnectionOpen, NotAnAddress_IsRefused) {
  for (const char* address : {"localhost", "http://localhost:4270", ""}) {
    Connection::Options options;
    options.address = address;
    EXPECT_EQ(Connection::Open(options).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tandem::client
