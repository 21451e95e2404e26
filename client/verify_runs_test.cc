#include "client/verify_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "client/testing/fake_coordinator.h"
#include "client/verify/plan.h"
#include "client/verify/sample_evidence.h"
#include "common/frame.h"
#include "common/spec/sample_spec.h"
#include "common/temporary_folder.h"

namespace tandem::client {
namespace {

// A coordinator that answers what a good run of two ranks leaves behind.
class TrainObservedTest : public testing::Test {
 protected:
  TrainObservedTest() {
    fake_.samples = good_.samples;
    Connection::Options options;
    options.address = fake_.address();
    connection_ = *Connection::Open(options);
    spec_ = verify::RunSpec(spec::SampleSpec(), 2, folder_.File("traces"));
  }

  void WriteTraces() {
    std::filesystem::create_directory(spec_.trace().dir());
    for (const verify::RankTrace& rank : good_.ranks) {
      std::string bytes;
      ASSERT_TRUE(AppendFrame(rank.header, &bytes).ok());
      for (const v1::StepTrace& step : rank.steps) ASSERT_TRUE(AppendFrame(step, &bytes).ok());
      std::ofstream(absl::StrCat(spec_.trace().dir(), "/rank-", rank.header.rank(), ".trace"),
                    std::ios::binary)
          << bytes;
    }
  }
  void JobEnds(v1::JobState state, v1::CauseCode code = v1::CAUSE_CODE_UNSPECIFIED) {
    v1::Job job = MakeJob("digits-1", state);
    if (state != v1::JOB_STATE_SUCCEEDED) {
      job.mutable_cause()->set_code(code);
      job.mutable_cause()->set_message("rank 1 said no");
    }
    fake_.watches = {{{job}}};
  }
  absl::StatusOr<ObservedTraining> Train() {
    return TrainObserved(spec_, {connection_.get(), &interrupts_, &progress_});
  }

  const verify::Run good_ = verify::GoodRun(2);
  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-test");
  FakeCoordinator fake_;
  std::unique_ptr<Connection> connection_;
  v1::JobSpec spec_;
  Interrupts interrupts_;
  Console console_{Console::Settings()};
  SystemClock clock_;
  Progress progress_{&console_, &clock_};
};

TEST_F(TrainObservedTest, JobSucceeds_HistoryAndTracesAreBroughtHome) {
  WriteTraces();
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const auto training = Train();
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ(training->run.world_size, 2u);
  EXPECT_EQ(training->run.samples.size(), verify::kSteps);
  ASSERT_EQ(training->run.ranks.size(), 2u);
  EXPECT_EQ(training->run.ranks[1].steps.size(), verify::kSteps);
  EXPECT_EQ(training->run.cause, "");
  ASSERT_EQ(fake_.submitted().size(), 1u);
  EXPECT_EQ(fake_.submitted()[0].spec().trace().dir(), spec_.trace().dir());
}

TEST_F(TrainObservedTest, RanksThatDoNotAgree_AreEvidenceWithACause) {
  WriteTraces();
  JobEnds(v1::JOB_STATE_FAILED, v1::CAUSE_CODE_DIGEST_MISMATCH);
  const auto training = Train();
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ(training->run.cause, "rank 1 said no");
  EXPECT_TRUE(training->run.ranks_disagree);
  EXPECT_EQ(training->run.ranks.size(), 2u);
}

TEST_F(TrainObservedTest, RanksThatDoNotAgreeBeforeTheyWrite_AreEvidenceWithoutTraces) {
  JobEnds(v1::JOB_STATE_FAILED, v1::CAUSE_CODE_DIGEST_MISMATCH);
  const auto training = Train();
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_TRUE(training->run.ranks_disagree);
  EXPECT_TRUE(training->run.ranks.empty());
}

TEST_F(TrainObservedTest, JobFails_IsAbortedWithItsCause) {
  JobEnds(v1::JOB_STATE_FAILED, v1::CAUSE_CODE_BAD_INPUT);
  const absl::Status status = Train().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "digits-1 FAILED: rank 1 said no");
}

TEST_F(TrainObservedTest, RankWithoutATrace_IsNamed) {
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const absl::Status status = Train().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("rank-0.trace"));
}

// What `tandem verify -- ./train` runs.
v1::JobSpec Program() {
  v1::JobSpec spec;
  spec.set_name("train");
  spec.mutable_command()->add_argv("./train");
  return verify::RunSpec(spec, 2, "/no/such/folder");
}

TEST_F(TrainObservedTest, AProgram_HasAHistoryAndNoTraces) {
  spec_ = Program();
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const auto training = Train();
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ(training->run.world_size, 2u);
  EXPECT_EQ(training->run.samples.size(), verify::kSteps);
  EXPECT_TRUE(training->run.ranks.empty());
  EXPECT_FALSE(fake_.submitted()[0].spec().has_trace());
}

TEST_F(TrainObservedTest, AProgramThatReportsNothing_IsToldHowTo) {
  spec_ = Program();
  fake_.samples.clear();
  JobEnds(v1::JOB_STATE_SUCCEEDED);
  const absl::Status status = Train().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("tandem_report.py"));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("command.parse.loss"));
}

TEST_F(TrainObservedTest, Interrupted_IsCancelled) {
  fake_.watches = {{{MakeJob("digits-1", v1::JOB_STATE_QUEUED)}, grpc::Status::OK, true}};
  interrupts_.Notify();
  EXPECT_EQ(Train().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tandem::client
