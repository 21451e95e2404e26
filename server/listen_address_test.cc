#include "server/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/temporary_folder.h"
#include "server/port_file.h"

namespace tandem {
namespace {

TEST(ListenAddressTest, Parse_GoodAddresses_RoundTrip) {
  for (const char* text : {"127.0.0.1:4270", "[::1]:0", "localhost:65535", "0.0.0.0:1"}) {
    const auto address = ParseListenAddress("--listen", text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(ListenAddressTest, Parse_BadAddresses_AreRefused) {
  for (const char* text :
       {"", "foo", ":1", "foo:", "foo:-1", "foo:65536", "foo:x", "::1:80", "[::1:80"}) {
    EXPECT_EQ(ParseListenAddress("--listen", text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ListenAddressTest, IsLoopback_OnlyForThisMachine) {
  EXPECT_TRUE((ListenAddress{"127.0.0.1", 1}.IsLoopback()));
  EXPECT_TRUE((ListenAddress{"::1", 1}.IsLoopback()));
  EXPECT_TRUE((ListenAddress{"localhost", 1}.IsLoopback()));
  EXPECT_FALSE((ListenAddress{"0.0.0.0", 1}.IsLoopback()));
  EXPECT_FALSE((ListenAddress{"::", 1}.IsLoopback()));
}

TEST(PortFileTest, Write_HasOneLineAnAddress) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  const std::string path = root.path() + "/ports";
  ASSERT_TRUE(WritePortFile(path, {"127.0.0.1", 1}, {"::1", 2}).ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "grpc 127.0.0.1:1\nhttp [::1]:2\n");
}

TEST(PortFileTest, Write_NoSuchDirectory_IsRefused) {
  EXPECT_EQ(WritePortFile("/nowhere/ports", {"127.0.0.1", 1}, {"127.0.0.1", 2}).code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tandem
