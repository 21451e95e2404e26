#include "common/host/gather.h"

#include "absl/time/clock.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

TEST(GatherTest, ThisHost_IsDescribed) {
  const v1::HostFacts facts = GatherHostFacts(
      {.trainer = "/no/trainer", .advertise_address = "127.0.0.1", .temporary = TemporaryPlace()});
  EXPECT_NE(facts.host(), "");
  EXPECT_EQ(facts.version(), kVersion);
  EXPECT_GT(facts.cores(), 0u);
  EXPECT_LT(absl::AbsDuration(FromProto(facts.wall_clock()) - absl::Now()), absl::Minutes(1));
  EXPECT_TRUE(facts.trainer_missing());
  EXPECT_GT(facts.shared_memory().total_bytes(), 0u);
  EXPECT_GT(facts.temporary().total_bytes(), 0u);
  EXPECT_GT(facts.limits().open_files(), 0u);
  EXPECT_EQ(facts.network().advertise_address(), "127.0.0.1");
}

}  // namespace
}  // namespace tandem::host
