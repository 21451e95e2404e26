#include "common/host_port.h"

#include "gtest/gtest.h"

namespace tandem {
namespace {

TEST(HostPort, GoodAddresses_RoundTrip) {
  for (const char* text : {"127.0.0.1:4270", "[::1]:0", "localhost:65535", "0.0.0.0:1"}) {
    const auto address = ParseHostPort(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(HostPort, Parsed_IsSplitWithoutBrackets) {
  EXPECT_EQ(ParseHostPort("node-1:4270")->host, "node-1");
  EXPECT_EQ(ParseHostPort("node-1:4270")->port, 4270);
  EXPECT_EQ(ParseHostPort("[::1]:65535")->host, "::1");
}

TEST(HostPort, Malformed_IsInvalidArgumentThatQuotesIt) {
  for (const char* text :
       {"", "foo", ":1", "foo:", "foo:-1", "foo:65536", "foo:x", "::1:80", "[::1:80", "[]:1"}) {
    const absl::Status status = ParseHostPort(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message().find('\''), 0u) << status;
  }
}

TEST(HostPort, IsLoopback_OnlyForThisMachine) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "::1", "localhost"}) {
    EXPECT_TRUE((HostPort{host, 1}.IsLoopback())) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "node-1"}) {
    EXPECT_FALSE((HostPort{host, 1}.IsLoopback())) << host;
  }
}

}  // namespace
}  // namespace tandem
