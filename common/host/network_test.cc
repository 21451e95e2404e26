#include "common/host/network.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(NetworkTest, Loopback_Works) {
  EXPECT_TRUE(ConnectToSelf("127.0.0.1").ok()) << ConnectToSelf("127.0.0.1");
}

// From the block that is reserved for documentation: nobody has it.
TEST(NetworkTest, AddressOfAnotherHost_CannotBeBound) {
  const absl::Status status = ConnectToSelf("203.0.113.7");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot bind 203.0.113.7"));
}

TEST(NetworkTest, AddressThatIsNone_IsRefused) {
  EXPECT_EQ(ConnectToSelf("gpu-3").code(), absl::StatusCode::kInvalidArgument);
}

TEST(NetworkTest, Facts_HaveAddressesOfTheNameAndWhatIsWrong) {
  const v1::NetworkFacts good = LookAtNetwork("127.0.0.5", "127.0.0.1");
  EXPECT_THAT(good.addresses(), Contains("127.0.0.5"));
  EXPECT_EQ(good.name_problem(), "");
  EXPECT_EQ(good.loopback_problem(), "");
  EXPECT_EQ(good.advertise_problem(), "");
  const v1::NetworkFacts bad = LookAtNetwork("999.0.0.5", "203.0.113.7");
  EXPECT_THAT(bad.name_problem(), HasSubstr("999.0.0.5"));
  EXPECT_THAT(bad.advertise_problem(), HasSubstr("cannot bind"));
  EXPECT_EQ(LookAtNetwork("127.0.0.5", "").advertise_problem(), "");
}

}  // namespace
}  // namespace tandem::host
