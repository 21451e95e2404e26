#include "worker/agent/route.h"

#include <string>

#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

TEST(ParseHostPort, NameAndAddresses_AreSplit) {
  EXPECT_EQ(ParseHostPort("node-1:4270")->host, "node-1");
  EXPECT_EQ(ParseHostPort("127.0.0.1:1")->port, "1");
  EXPECT_EQ(ParseHostPort("[::1]:65535")->host, "::1");
}

TEST(ParseHostPort, Malformed_IsInvalidArgument) {
  for (const char* text :
       {"", "host", "host:", ":1", "host:0", "host:65536", "host:x", "::1:4270", "[]:1"}) {
    EXPECT_EQ(ParseHostPort(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(IsNumericAddress, AddressesOnly_NoNamesBracketsOrPorts) {
  for (const char* text : {"127.0.0.1", "10.0.0.1", "::1", "fd00::17"})
    EXPECT_TRUE(IsNumericAddress(text)) << text;
  for (const char* text :
       {"", "localhost", "node-1", "[::1]", "10.0.0.1:80", "10.0.0", "1.2.3.400"})
    EXPECT_FALSE(IsNumericAddress(text)) << text;
}

TEST(LocalAddressTowards, Loopback_IsTheAddressAndNotAName) {
  EXPECT_EQ(*LocalAddressTowards({"localhost", "4270"}), "127.0.0.1");
  EXPECT_EQ(*LocalAddressTowards({"127.0.0.7", "4270"}), "127.0.0.1");
}

TEST(LocalAddressTowards, UnknownHost_IsUnavailableWithTheName) {
  // One byte longer than a label of a name may be, so that no server is asked.
  const std::string name(64, 'x');
  const auto address = LocalAddressTowards({name, "4270"});
  EXPECT_EQ(address.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(address.status().message().find(name), std::string::npos);
}

}  // namespace
}  // namespace tandem::agent
