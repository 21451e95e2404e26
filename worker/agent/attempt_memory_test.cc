#include "worker/agent/attempt_memory.h"

#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

const JobId kJob("job");

TEST(AttemptMemory, IsAborted_SameOrEarlierAttempt_IsTrue) {
  AttemptMemory memory(10);
  memory.NoteAborted(kJob, AttemptNumber(2));
  memory.NoteAborted(kJob, AttemptNumber(1));
  EXPECT_TRUE(memory.IsAborted(kJob, AttemptNumber(1)));
  EXPECT_TRUE(memory.IsAborted(kJob, AttemptNumber(2)));
  EXPECT_FALSE(memory.IsAborted(kJob, AttemptNumber(3)));
  EXPECT_FALSE(memory.IsAborted(JobId("other"), AttemptNumber(1)));
}

TEST(AttemptMemory, NotePrepared_SameRankTwice_IsFalseTheSecondTime) {
  AttemptMemory memory(10);
  EXPECT_TRUE(memory.NotePrepared({kJob, AttemptNumber(1), Rank(0)}));
  EXPECT_TRUE(memory.NotePrepared({kJob, AttemptNumber(1), Rank(1)}));
  EXPECT_TRUE(memory.NotePrepared({kJob, AttemptNumber(2), Rank(0)}));
  EXPECT_FALSE(memory.NotePrepared({kJob, AttemptNumber(1), Rank(0)}));
}

TEST(AttemptMemory, Capacity_Exceeded_ForgetsTheOldestJob) {
  AttemptMemory memory(2);
  for (const char* job : {"a", "b", "c"}) memory.NoteAborted(JobId(job), AttemptNumber(1));
  EXPECT_FALSE(memory.IsAborted(JobId("a"), AttemptNumber(1)));
  EXPECT_TRUE(memory.IsAborted(JobId("b"), AttemptNumber(1)));
  EXPECT_TRUE(memory.IsAborted(JobId("c"), AttemptNumber(1)));
}

}  // namespace
}  // namespace tandem::agent
