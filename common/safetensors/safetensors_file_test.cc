#include "common/safetensors/safetensors_file.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr absl::string_view kHeader =
    R"({"__metadata__":{"format":"pt"},)"
    R"("bias":{"dtype":"F16","shape":[2],"data_offsets":[8,12]},)"
    R"("empty":{"dtype":"F32","shape":[3,0],"data_offsets":[12,12]},)"
    R"("weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
constexpr absl::string_view kData = "wwwwWWWWbbBB";

std::string WithLength(uint64_t length, absl::string_view rest) {
  char bytes[kLengthBytes];
  StoreLittleEndian64(length, bytes);
  return absl::StrCat(absl::string_view(bytes, kLengthBytes), rest);
}

std::string FileOf(absl::string_view header, absl::string_view data) {
  return WithLength(header.size(), absl::StrCat(header, data));
}

std::string ErrorOf(std::string bytes) {
  const auto file = SafetensorsFile::Parse(std::move(bytes), "t.safetensors");
  EXPECT_TRUE(absl::IsDataLoss(file.status())) << file.status();
  EXPECT_THAT(std::string(file.status().message()), StartsWith("t.safetensors: "));
  return std::string(file.status().message());
}

// The header of one tensor 'w' with four bytes of data.
std::string ErrorOfTensor(absl::string_view tensor) {
  return ErrorOf(FileOf(absl::StrCat(R"({"w":)", tensor, "}"), "1234"));
}

TEST(SafetensorsFile, Parse_WellFormed_GivesTensorsInOrderOfTheirBytes) {
  const auto file = SafetensorsFile::Parse(FileOf(kHeader, kData), "t");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->tensors(), ElementsAre(TensorInfo{"weight", "F32", {1, 2}, 0, 8},
                                           TensorInfo{"bias", "F16", {2}, 8, 12},
                                           TensorInfo{"empty", "F32", {3, 0}, 12, 12}));
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("format", "pt")));
  EXPECT_EQ(file->Bytes(*file->Find("bias")), "bbBB");
  EXPECT_EQ(file->Bytes(*file->Find("empty")), "");
  EXPECT_EQ(file->Find("absent"), nullptr);
}

TEST(SafetensorsFile, Parse_NoTensors_IsAFile) {
  EXPECT_TRUE(SafetensorsFile::Parse(FileOf("{}      ", ""), "t").ok());
}

TEST(SafetensorsFile, Parse_CutAnywhere_IsRefused) {
  const std::string whole = FileOf(kHeader, kData);
  for (size_t length = 0; length < whole.size(); ++length) ErrorOf(whole.substr(0, length));
}

TEST(TensorBytes, SizesOtherThanZero_MustMultiplyToAnInt64) {
  EXPECT_EQ(TensorBytes("F32", {}), 4u);
  EXPECT_EQ(TensorBytes("F32", {2, 0, 3}), 0u);
  EXPECT_EQ(TensorBytes("U8", {INT64_MAX}), uint64_t{INT64_MAX});
  // Wherever the 0 is: the samples of such an array have a shape without it.
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {INT64_MAX, 2}, {INT64_MAX, 2, 0}, {0, INT64_MAX, 2}, {-1}}) {
    EXPECT_EQ(TensorBytes("U8", shape), std::nullopt);
  }
  EXPECT_EQ(TensorBytes("F32", {INT64_MAX / 2}), std::nullopt);
}

TEST(SafetensorsFile, Parse_LongerByOneByte_IsRefused) {
  EXPECT_THAT(ErrorOf(FileOf(kHeader, absl::StrCat(kData, "x"))), HasSubstr("1 bytes"));
}

TEST(SafetensorsFile, Parse_AnyByteChanged_IsRefusedOrStaysWithinTheFile) {
  const std::string whole = FileOf(kHeader, kData);
  for (size_t at = 0; at < whole.size() - kData.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      const auto file = SafetensorsFile::Parse(bytes, "t");
      if (!file.ok()) continue;
      size_t covered = 0;
      for (const TensorInfo& tensor : file->tensors()) covered += file->Bytes(tensor).size();
      EXPECT_EQ(covered, kData.size());
    }
  }
}

TEST(SafetensorsFile, Parse_HeaderLengthBeyondTheFile_IsRefused) {
  for (const uint64_t length : {uint64_t{1000}, kMaxHeaderBytes, kMaxHeaderBytes + 1,
                                uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7}) {
    ErrorOf(WithLength(length, kHeader));
  }
}

TEST(SafetensorsFile, Parse_HeaderThatIsNoHeader_IsRefused) {
  for (const char* header :
       {"", " ", "{", "}", "[]", "1", "null", "{}}", "{\"\xFF\":1}", R"({"w":null})", R"({"w":[]})",
        R"({"__metadata__":{"a":1}})", R"({"__metadata__":{"a":{}}})", R"({"__metadata__":"a"})",
        R"({"__metadata__":{"a":"","a":""}})"}) {
    ErrorOf(FileOf(header, ""));
  }
}

TEST(SafetensorsFile, Parse_DeepNesting_IsRefusedAtOnce) {
  ErrorOf(FileOf(absl::StrCat(R"({"w":)", std::string(1'000'000, '[')), ""));
  ErrorOf(FileOf(absl::StrCat(R"({"w":)", std::string(1'000'000, '{')), ""));
}

TEST(SafetensorsFile, Parse_OneGoodTensor_IsTheControlOfTheBadOnes) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  EXPECT_TRUE(SafetensorsFile::Parse(FileOf(header, "1234"), "t").ok());
}

TEST(SafetensorsFile, Parse_BadTensor_IsNamed) {
  for (const char* tensor : {
           R"({"shape":[],"data_offsets":[0,4]})",
           R"({"dtype":"F32","data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[0,4],"more":"x"})",
           R"({"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]})",
           R"({"dtype":"F33","shape":[],"data_offsets":[0,4]})",
           R"({"dtype":4,"shape":[],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[0,4,8]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[4,0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[-4,0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[9223372036854775808,9223372036854775812]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[18446744073709551616,4]})",
       }) {
    EXPECT_THAT(ErrorOfTensor(tensor), StartsWith("t.safetensors: tensor 'w': ")) << tensor;
  }
}

TEST(SafetensorsFile, Parse_BytesOutsideGapOrOverlap_IsRefused) {
  const auto two = [](absl::string_view second) {
    return FileOf(absl::StrCat(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)",
                               R"("b":{"dtype":"U8","shape":[4],"data_offsets":)", second, "}}"),
                  "12345678");
  };
  EXPECT_TRUE(SafetensorsFile::Parse(two("[4,8]"), "t").ok());
  for (const char* second :
       {"[0,4]", "[3,7]", "[5,9]", "[8,12]", "[9007199254740992,9007199254740996]"}) {
    EXPECT_THAT(ErrorOf(two(second)), HasSubstr("tensor 'b'")) << second;
  }
}

TEST(SafetensorsFile, Parse_TwoTensorsOfOneName_IsRefused) {
  ErrorOf(FileOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                 R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                 ""));
}

TEST(SafetensorsFile, Open_ReadsTheFileOrNamesIt) {
  const auto folder = TemporaryFolder::Create("safetensors");
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string path = folder->File("model.safetensors");
  EXPECT_TRUE(absl::IsInvalidArgument(SafetensorsFile::Open(path).status()));
  std::ofstream(path) << FileOf(kHeader, kData);
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Bytes(*file->Find("weight")), "wwwwWWWW");
  std::ofstream(path) << "short";
  EXPECT_THAT(std::string(SafetensorsFile::Open(path).status().message()), StartsWith(path));
}

}  // namespace
}  // namespace tandem::safetensors
