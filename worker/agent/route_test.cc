#include "worker/agent/route.h"

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

TEST(LocalAddressTowards, Loopback_IsTheAddressAndNotAName) {
  EXPECT_EQ(*LocalAddressTowards({"localhost", "4270"}), "127.0.0.1");
  EXPECT_EQ(*LocalAddressTowards({"127.0.0.7", "4270"}), "127.0.0.1");
}

TEST(LocalAddressTowards, UnknownHost_IsUnavailableWithTheName) {
  const auto address = LocalAddressTowards({"no-such-host.invalid", "4270"});
  EXPECT_EQ(address.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(address.status().message().find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace tandem::agent
