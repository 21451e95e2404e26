#include "client/pick_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::client {
namespace {

using ::testing::HasSubstr;

v1::ListJobsResponse Jobs(const std::vector<std::string>& ids) {
  v1::ListJobsResponse jobs;
  for (const std::string& id : ids) jobs.add_jobs()->set_id(id);
  return jobs;
}

TEST(PickJob, UniqueBeginning_IsEnough) {
  EXPECT_EQ(*PickJob(Jobs({"digits-abc", "digits-xyz"}), "digits-x"), "digits-xyz");
}

TEST(PickJob, WholeId_WinsOverLongerOnes) {
  EXPECT_EQ(*PickJob(Jobs({"digits-abc", "digits-a"}), "digits-a"), "digits-a");
}

TEST(PickJob, AmbiguousBeginning_ListsCandidates) {
  const auto picked = PickJob(Jobs({"a1", "a2", "a3", "a4", "a5", "a6"}), "a");
  EXPECT_EQ(picked.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(picked.status().message()), HasSubstr("6 jobs: a1, a2, a3, a4, a5, ..."));
}

TEST(PickJob, NothingBeginsSo_IsNotFound) {
  EXPECT_EQ(PickJob(Jobs({"a1"}), "b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(PickJob(Jobs({"a1"}), "").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tandem::client
