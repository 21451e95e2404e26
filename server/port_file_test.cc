#include "server/port_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/temporary_folder.h"

namespace tandem {
namespace {

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
