#include "worker/agent/route.h"

#include <string>

#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

TEST(IsNumericAddress, AddressesOnly_NoNamesBracketsOrPorts) {
  for (const char* text : {"127.0.0.1", "10.0.0.1", "::1", "fd00::17"})
    EXPECT_TRUE(IsNumericAddress(text)) << text;
  for (const char* text :
       {"", "localhost", "node-1", "[::1]", "10.0.0.1:80", "10.0.0", "1.2.3.400"})
    EXPECT_FALSE(IsNumericAddress(text)) << text;
}

TEST(LocalAddressTowards, Loopback_IsTheAddressAndNotAName) {
  EXPECT_EQ(*LocalAddressTowards({"localhost", 4270}), "127.0.0.1");
  EXPECT_EQ(*LocalAddressTowards({"127.0.0.7", 4270}), "127.0.0.1");
}

TEST(LocalAddressTowards, UnknownHost_IsUnavailableWithTheName) {
  // One byte longer than a label of a name may be, so that no server is asked.
  const std::string name(64, 'x');
  const auto address = LocalAddressTowards({name, 4270});
  EXPECT_EQ(address.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(address.status().message().find(name), std::string::npos);
}

}  // namespace
}  // namespace tandem::agent
