#include "common/safetensors/write_safetensors.h"

#include <fcntl.h>

#include <string>
#include <vector>

#include "common/file_descriptor.h"
#include "common/read_file.h"
#include "common/safetensors/safetensors_file.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class WriteSafetensorsTest : public ::testing::Test {
 protected:
  absl::Status Write(std::vector<TensorView> tensors,
                     const std::map<std::string, std::string>& metadata = {}) {
    FileDescriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    return WriteSafetensors(file.get(), std::move(tensors), metadata);
  }

  std::string Written() { return ReadFile(path_).value_or("unreadable"); }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("safetensors");
  const std::string path_ = folder_.File("t.safetensors");
  const TensorView bias_{"bias", "F16", {2}, "bbBB"};
  const TensorView weight_{"weight", "F32", {1, 2}, "wwwwWWWW"};
  const TensorView odd_{"a \"quoted\"\n name", "U8", {1}, "x"};
};

TEST_F(WriteSafetensorsTest, Write_IsReadBackAsItWas) {
  ASSERT_TRUE(Write({bias_, weight_, odd_}, {{"step", "7"}, {"\xC2\xB5", "\"\\\x01"}}).ok());
  const auto file = SafetensorsFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->tensors(), ElementsAre(TensorInfo{weight_.name, "F32", {1, 2}, 0, 8},
                                           TensorInfo{bias_.name, "F16", {2}, 8, 12},
                                           TensorInfo{odd_.name, "U8", {1}, 12, 13}));
  for (const TensorView& tensor : {bias_, weight_, odd_}) {
    EXPECT_EQ(file->Bytes(*file->Find(tensor.name)), tensor.bytes);
  }
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("step", "7"), Pair("\xC2\xB5", "\"\\\x01")));
}

TEST_F(WriteSafetensorsTest, Write_KnownTensors_GivesTheBytesOfTheFormat) {
  ASSERT_TRUE(Write({weight_}).ok());
  const std::string header = R"({"weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}   )";
  ASSERT_EQ(header.size(), 0x40u);
  EXPECT_EQ(Written(), std::string("\x40\0\0\0\0\0\0\0", 8) + header + "wwwwWWWW");
}

// testdata/reference.safetensors was written by the Python package.
TEST_F(WriteSafetensorsTest, Write_TensorsOfTheReference_GivesTheSameFile) {
  const std::vector<float> weight = {1.5, -2};
  const std::vector<int64_t> ids = {3, 4};
  const auto bytes_of = [](const auto& numbers) {
    return absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                             numbers.size() * sizeof(numbers[0]));
  };
  ASSERT_TRUE(Write({{"flag", "BOOL", {}, "\x01"},
                     {"ids", "I64", {2}, bytes_of(ids)},
                     {"weight", "F32", {1, 2}, bytes_of(weight)}},
                    {{"format", "np"}})
                  .ok());
  EXPECT_EQ(Written(), ReadFile(TEST_DATA "/reference.safetensors").value());
}

TEST_F(WriteSafetensorsTest, Write_AnotherOrder_GivesTheSameBytes) {
  ASSERT_TRUE(Write({bias_, weight_, odd_}).ok());
  const std::string one = Written();
  ASSERT_TRUE(Write({odd_, weight_, bias_}).ok());
  EXPECT_EQ(Written(), one);
}

TEST_F(WriteSafetensorsTest, Write_NoTensors_IsAFile) {
  ASSERT_TRUE(Write({}).ok());
  EXPECT_TRUE(SafetensorsFile::Open(path_).ok());
}

TEST_F(WriteSafetensorsTest, Write_TensorThatIsNone_IsRefusedBeforeAByte) {
  for (const TensorView& bad : std::vector<TensorView>{{"bias", "F16", {1}, "bb"},
                                                       {"__metadata__", "F16", {1}, "bb"},
                                                       {"\xFF", "F16", {1}, "bb"},
                                                       {"w", "F15", {1}, "bb"},
                                                       {"w", "F16", {2}, "bb"},
                                                       {"w", "F16", {-1}, "bb"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Write({bias_, bad}))) << bad.name;
    EXPECT_EQ(Written(), "");
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Write({bias_}, {{"\xFF", ""}})));
}

TEST_F(WriteSafetensorsTest, Write_FullDisk_SaysSo) {
  FileDescriptor full(open("/dev/full", O_WRONLY));
  EXPECT_TRUE(absl::IsResourceExhausted(WriteSafetensors(full.get(), {weight_}, {})));
}

}  // namespace
}  // namespace tandem::safetensors
