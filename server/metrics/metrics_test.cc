#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

namespace tandem::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<v1::Job> MakeJob(const std::string& id, v1::JobState state) {
  auto job = std::make_shared<v1::Job>();
  job->set_id(id);
  job->set_name("digits");
  job->set_state(state);
  job->set_step(7);
  job->set_world_size(2);
  return job;
}

class MetricsTest : public ::testing::Test {
 protected:
  std::string Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
};

TEST_F(MetricsTest, Text_FromTheStart_HasEveryStateAtZero) {
  EXPECT_THAT(Text(), HasSubstr("tandem_jobs{state=\"queued\"} 0"));
  EXPECT_THAT(Text(), HasSubstr("tandem_workers{state=\"connected\"} 0"));
  EXPECT_THAT(Text(), HasSubstr("tandem_slots{state=\"free\"} 0"));
  EXPECT_THAT(Text(), HasSubstr("tandem_build_info{"));
  EXPECT_THAT(Text(), Not(HasSubstr("unspecified")));
}

TEST_F(MetricsTest, Mirror_RunningJob_HasSeriesUntilItEnds) {
  const auto job = MakeJob("digits-abc234", v1::JOB_STATE_RUNNING);
  metrics_.Mirror({job}, {});
  EXPECT_THAT(Text(), HasSubstr("tandem_job_step{job_id=\"digits-abc234\",name=\"digits\"} 7"));
  EXPECT_THAT(Text(), HasSubstr("tandem_job_world_size{"));
  EXPECT_THAT(Text(), Not(HasSubstr("tandem_job_loss{")));
  EXPECT_THAT(Text(), Not(HasSubstr("tandem_job_checkpoint_step{")));
  job->set_loss(0.25);
  job->mutable_checkpoint()->set_step(5);
  metrics_.Mirror({job}, {});
  EXPECT_THAT(Text(), HasSubstr("tandem_job_loss{job_id=\"digits-abc234\",name=\"digits\"} 0.25"));
  EXPECT_THAT(Text(),
              HasSubstr("tandem_job_checkpoint_step{job_id=\"digits-abc234\",name=\"digits\"} 5"));
  job->set_state(v1::JOB_STATE_SUCCEEDED);
  metrics_.Mirror({job}, {});
  EXPECT_THAT(Text(), Not(HasSubstr("digits-abc234")));
  EXPECT_THAT(Text(), HasSubstr("tandem_jobs{state=\"succeeded\"} 1"));
}

TEST_F(MetricsTest, Mirror_JobNotRunning_HasNoSeries) {
  metrics_.Mirror({MakeJob("digits-abc234", v1::JOB_STATE_QUEUED)}, {});
  EXPECT_THAT(Text(), Not(HasSubstr("digits-abc234")));
}

TEST_F(MetricsTest, Mirror_Workers_CountsFreeAndBusySlots) {
  v1::Worker worker;
  worker.set_state(v1::WORKER_STATE_CONNECTED);
  worker.add_slots()->set_name("cpu:0");
  worker.add_slots()->set_job_id("digits-abc234");
  worker.add_slots()->set_name("cpu:2");
  metrics_.Mirror({}, {worker});
  EXPECT_THAT(Text(), HasSubstr("tandem_slots{state=\"free\"} 2"));
  EXPECT_THAT(Text(), HasSubstr("tandem_slots{state=\"busy\"} 1"));
  EXPECT_THAT(Text(), HasSubstr("tandem_workers{state=\"connected\"} 1"));
  metrics_.Mirror({}, {});
  EXPECT_THAT(Text(), HasSubstr("tandem_slots{state=\"free\"} 0"));
}

TEST_F(MetricsTest, CountFailure_ByCause_CountsEachCauseApart) {
  metrics_.CountFailure(v1::CAUSE_CODE_RANK_DIED);
  metrics_.CountFailure(v1::CAUSE_CODE_RANK_DIED);
  metrics_.CountFailure(v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(Text(), HasSubstr("tandem_failures_total{cause=\"rank_died\"} 2"));
  EXPECT_THAT(Text(), HasSubstr("tandem_failures_total{cause=\"bad_input\"} 1"));
}

TEST_F(MetricsTest, CountFailure_NotYetCalled_EveryCauseThatIsCountedIsZero) {
  for (const char* cause : {"bad_input", "rank_error", "rank_died", "peer_lost", "worker_lost",
                            "prepare_timeout", "digest_mismatch"}) {
    EXPECT_THAT(Text(), HasSubstr(std::string("tandem_failures_total{cause=\"") + cause + "\"} 0"));
  }
  EXPECT_THAT(Text(), Not(HasSubstr("coordinator_restarted")));
}

TEST_F(MetricsTest, ObserveRendezvous_HalfASecond_FallsIntoItsBucket) {
  metrics_.ObserveRendezvous(absl::Milliseconds(400));
  EXPECT_THAT(Text(), HasSubstr("tandem_rendezvous_seconds_bucket{le=\"0.25\"} 0"));
  EXPECT_THAT(Text(), HasSubstr("tandem_rendezvous_seconds_bucket{le=\"0.5\"} 1"));
}

}  // namespace
}  // namespace tandem::metrics
