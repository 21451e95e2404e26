#include "worker/nccl/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "worker/nccl/nccl_ranks.h"

namespace tandem::nccl {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const std::string& name, const std::string& text) {
  const absl::Status status = NcclLibrary::Load(name).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

TEST(NcclLibraryTest, Missing_FailedPreconditionAndNamed) {
  ExpectRefused("libno-such-nccl.so.2", "cannot open shared object file");
}

TEST(NcclLibraryTest, NoNccl_FailedPreconditionAndNamesTheFunction) {
  ExpectRefused("libc.so.6", "ncclGetVersion");
}

TEST(NcclLibraryTest, TooOld_FailedPreconditionAndNamesBothVersions) {
  ExpectRefused(TANDEM_OLD_NCCL, "2.17.3, and 2.18.0 or newer");
}

TEST(NcclLibraryTest, LacksFunctions_FailedPreconditionAndNamesTheFirst) {
  ExpectRefused(TANDEM_EMPTY_NCCL, "ncclGetUniqueId");
}

// CASES F11: jobs whose ids come from one variable share a port and mix.
TEST(NcclLibraryTest, CaseF11_IdFromTheEnvironment_IsRefused) {
  setenv("NCCL_COMM_ID", "127.0.0.1:29400", 1);
  ExpectRefused(TANDEM_STAND_IN_NCCL, "NCCL_COMM_ID is set");
  unsetenv("NCCL_COMM_ID");
  EXPECT_TRUE(NcclLibrary::Load(TANDEM_STAND_IN_NCCL).ok());
}

TEST(NcclLibraryTest, StandIn_TellsItsVersion) {
  EXPECT_EQ(LoadStandIn()->Version(), "NCCL 2.28.9");
}

TEST(NcclLibraryTest, MintedIds_HaveTheirSizeAndDiffer) {
  const auto library = LoadStandIn();
  const absl::StatusOr<std::string> one = library->MintUniqueId();
  const absl::StatusOr<std::string> other = library->MintUniqueId();
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  EXPECT_EQ(one->size(), sizeof(NcclUniqueId));
  EXPECT_NE(*one, *other);
}

TEST(NcclLibraryTest, MintingFails_UnavailableInNcclsWords) {
  const auto library = LoadStandIn();
  setenv("TANDEM_STAND_IN_NCCL_FAULT", "mint", 1);
  const absl::Status status = library->MintUniqueId().status();
  unsetenv("TANDEM_STAND_IN_NCCL_FAULT");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no socket interface found"));
}

}  // namespace
}  // namespace tandem::nccl
