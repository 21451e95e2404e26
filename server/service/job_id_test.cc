#include "server/service/job_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tandem::service {
namespace {

using ::testing::MatchesRegex;

std::string IdFor(absl::string_view name) {
  std::mt19937 random(1);
  return MakeJobId(name, random).value();
}

TEST(JobIdTest, MakeJobId_PlainName_IsNameAndSixCharacters) {
  EXPECT_THAT(IdFor("Digits-2"), MatchesRegex("digits-2-[a-z2-9]{6}"));
}

TEST(JobIdTest, MakeJobId_NamesThatMeanSomethingElsewhere_AreMadeSafe) {
  EXPECT_THAT(IdFor("../../etc/passwd"), MatchesRegex("etc-passwd-[a-z2-9]{6}"));
  EXPECT_THAT(IdFor("--help"), MatchesRegex("help-[a-z2-9]{6}"));
  EXPECT_THAT(IdFor(".._-"), MatchesRegex("job-[a-z2-9]{6}"));
}

TEST(JobIdTest, MakeJobId_SameNameOften_GivesDifferentIds) {
  std::mt19937 random(1);
  std::set<JobId> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(MakeJobId("digits", random));
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace tandem::service
