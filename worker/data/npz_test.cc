#include <zip.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/read_file.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/npy.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string NumPyFile(const std::string& name) {
  return ReadFile(absl::StrCat(TEST_DATA, "/", name)).value();
}

// An archive of one file.
std::string ArchiveOf(const std::string& name, absl::string_view content) {
  const TemporaryFolder folder = *TemporaryFolder::Create("npz");
  zip_t* archive = zip_open(folder.File("a.npz").c_str(), ZIP_CREATE, nullptr);
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  EXPECT_GE(zip_file_add(archive, name.c_str(), source, 0), 0);
  EXPECT_EQ(zip_close(archive), 0);
  return ReadFile(folder.File("a.npz")).value();
}

class NpzTest : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string archive_ = NumPyFile(GetParam());
};

TEST_P(NpzTest, Extract_ArchiveOfNumPy_GivesTheFilesOfItsArrays) {
  EXPECT_EQ(ExtractNpy(archive_, "inputs", "x.npz").value(), NumPyFile("f4.npy"));
  const std::string targets = ExtractNpy(archive_, "targets", "x.npz").value();
  EXPECT_THAT(ParseNpy(targets, "y")->shape, ElementsAre(2));
}

TEST_P(NpzTest, Extract_OtherName_SaysWhichThereAre) {
  const absl::Status status = ExtractNpy(archive_, "input", "x.npz").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), StartsWith("x.npz: has no array 'input'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("it holds inputs, targets"));
}

TEST_P(NpzTest, Extract_CutAnywhere_IsRefused) {
  for (size_t length = 0; length < archive_.size(); ++length) {
    const auto file = ExtractNpy(archive_.substr(0, length), "inputs", "x.npz");
    EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << length;
  }
}

TEST_P(NpzTest, Extract_AnyByteChanged_IsRefusedOrHarmless) {
  const std::string right = NumPyFile("f4.npy");
  for (size_t at = 0; at < archive_.size(); ++at) {
    std::string bytes = archive_;
    bytes[at] = static_cast<char>(~bytes[at]);
    const auto file = ExtractNpy(bytes, "inputs", "x.npz");
    EXPECT_TRUE(absl::IsInvalidArgument(file.status()) || *file == right) << at;
  }
}

// Fifty megabytes of zeros in fifty kilobytes.
TEST(Npz, Extract_LongerThanItsHeaderSays_StopsThereAndIsRefused) {
  const std::string array = NumPyFile("f4.npy");
  const std::string file =
      ExtractNpy(ArchiveOf("inputs.npy", array + std::string(50'000'000, '\0')), "inputs", "x.npz")
          .value();
  EXPECT_LE(file.size(), kMaxNpyHeaderBytes);
  EXPECT_THAT(std::string(ParseNpy(file, "x.npz").status().message()), HasSubstr("more than"));
}

TEST(Npz, Extract_LongArray_IsWhole) {
  std::string header = NumPyFile("f4.npy").substr(0, 128);
  const std::string shape = "(2, 3), }   ";
  header.replace(header.find(shape), shape.size(), "(9999, 7), }");
  const std::string array = header + std::string(4 * 9999 * 7, 'x');
  EXPECT_EQ(ExtractNpy(ArchiveOf("inputs.npy", array), "inputs", "x.npz").value(), array);
}

INSTANTIATE_TEST_SUITE_P(Archives, NpzTest, ::testing::Values("stored.npz", "deflated.npz"));

}  // namespace
}  // namespace tandem::data
