#include "worker/device/device_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The libraries beside this test are worker/device/test_libraries.
TEST(DeviceLibraryTest, LibrariesBesideTheProgram_AreItsKinds) {
  EXPECT_THAT(DeviceKinds(), ElementsAre("broken", "empty", "good", "old"));
}

TEST(DeviceLibraryTest, Good_IsLoadedOnce) {
  const auto library = LoadDeviceLibrary("good");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ((*library)->visibility_variable(), "TEST_VISIBLE_DEVICES");
  EXPECT_EQ(*LoadDeviceLibrary("good"), *library);
}

TEST(DeviceLibraryTest, Missing_IsNotFound) {
  const absl::Status status = LoadDeviceLibrary("abacus").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libtandem-abacus.so"));
}

TEST(DeviceLibraryTest, NoLibrary_SaysWhy) {
  const absl::Status status = LoadDeviceLibrary("broken").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libtandem-broken.so"));
}

TEST(DeviceLibraryTest, WithoutEntry_NamesIt) {
  const absl::Status status = LoadDeviceLibrary("empty").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(kDeviceLibraryFunction));
}

TEST(DeviceLibraryTest, OtherVersion_NamesBoth) {
  const absl::Status status = LoadDeviceLibrary("old").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0.0.7"));
}

}  // namespace
}  // namespace tandem::device
