// With the real NCCL, where it is installed: as far as it goes without a device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "worker/device/testing/host_device.h"
#include "worker/nccl/nccl_library.h"
#include "worker/nccl/nccl_transport.h"

namespace tandem::nccl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A name for dlopen, or a path where the build found one.
class RealNcclTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("NCCL_RAS_ENABLE", "0", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    auto library = NcclLibrary::Load(TANDEM_REAL_NCCL);
    if (!library.ok()) GTEST_SKIP() << library.status();
    library_ = *std::move(library);
  }

  std::unique_ptr<NcclLibrary> library_;
};

TEST_F(RealNcclTest, Version_IsThatOfItsMajor) {
  EXPECT_THAT(library_->Version(), StartsWith("NCCL 2."));
}

TEST_F(RealNcclTest, MintWithoutADevice_IdsDiffer) {
  const absl::StatusOr<std::string> one = library_->MintUniqueId();
  const absl::StatusOr<std::string> other = library_->MintUniqueId();
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  EXPECT_EQ(one->size(), sizeof(NcclUniqueId));
  EXPECT_NE(*one, *other);
}

TEST_F(RealNcclTest, ConnectWithoutADriver_InternalInNcclsWords) {
  const absl::StatusOr<std::string> id = library_->MintUniqueId();
  ASSERT_TRUE(id.ok()) << id.status();
  device::HostDevice device;
  const auto transport =
      ConnectNccl(*library_, device, {JobId("job"), AttemptNumber(1), Rank(0), 1}, *id,
                  {.connect_timeout = absl::Seconds(20)});
  if (transport.ok()) GTEST_SKIP() << "there is a device here";
  EXPECT_EQ(transport.status().code(), absl::StatusCode::kInternal) << transport.status();
  EXPECT_THAT(std::string(transport.status().message()),
              HasSubstr("rank 0 of 1 cannot connect: NCCL: "));
  RecordProperty("said", std::string(transport.status().message()));
}

// In a process of its own: NCCL looks for its interface once.
TEST_F(RealNcclTest, NoSuchInterface_UnavailableInNcclsWords) {
  setenv("NCCL_SOCKET_IFNAME", "none", 1);
  const absl::StatusOr<std::string> id = library_->MintUniqueId();
  if (id.ok()) GTEST_SKIP() << "another test of this process has minted before";
  EXPECT_EQ(id.status().code(), absl::StatusCode::kUnavailable) << id.status();
}

}  // namespace
}  // namespace tandem::nccl
