#include "worker/data/idx.h"

#include <string>

#define ZLIB_CONST
#include <zlib.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/gunzip.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr uint64_t kNoLimit = ~uint64_t{0};

// Two pictures of one row and three columns.
const std::string kPictures(
    "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
    "abcdef",
    22);

std::string ErrorOf(absl::string_view bytes, size_t dimensions) {
  const auto array = ParseIdx(bytes, dimensions, "t10k");
  EXPECT_TRUE(absl::IsInvalidArgument(array.status())) << array.status();
  EXPECT_THAT(std::string(array.status().message()), StartsWith("t10k: "));
  return std::string(array.status().message());
}

std::string Gzip(absl::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

TEST(Idx, Parse_Pictures_GivesOneSampleAPicture) {
  const auto array = ParseIdx(kPictures, 3, "t10k");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, "U8");
  EXPECT_THAT(array->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(array->bytes, "abcdef");
}

TEST(Idx, Parse_SizesAreReadHighestByteFirst) {
  const std::string labels = std::string("\0\0\x08\x01\0\0\x01\x02", 8) + std::string(258, 'x');
  EXPECT_THAT(ParseIdx(labels, 1, "t")->shape, ElementsAre(258));
}

TEST(Idx, Parse_CutAnywhereOrTooLong_IsRefused) {
  for (size_t length = 0; length < kPictures.size(); ++length)
    ErrorOf(kPictures.substr(0, length), 3);
  ErrorOf(kPictures + "x", 3);
}

TEST(Idx, Parse_OtherFile_IsRefused) {
  ErrorOf(kPictures, 1);
  ErrorOf("P5 28 28 255", 3);
  std::string floats = kPictures;
  floats[2] = '\x0D';
  ErrorOf(floats, 3);
  const std::string huge = std::string("\0\0\x08\x03", 4) + std::string(12, '\xFF') + "abcdef";
  ErrorOf(huge, 3);
}

TEST(Gunzip, Gzip_IsInflated) {
  std::string text;
  for (uint32_t i = 0; i < 100000; ++i) text += static_cast<char>(i * i >> 3);
  EXPECT_TRUE(IsGzip(Gzip(text)));
  EXPECT_FALSE(IsGzip(kPictures));
  EXPECT_EQ(Gunzip(Gzip(text), kNoLimit, "f.gz").value(), text);
  EXPECT_EQ(Gunzip(Gzip("one ") + Gzip("") + Gzip("two"), kNoLimit, "f.gz").value(), "one two");
}

TEST(Gunzip, LongerThanTheLimit_IsCutThere) {
  const std::string text(1'000'000, 'x');
  for (const size_t limit : {0, 1, 65535, 65536, 65537, 999'999}) {
    EXPECT_EQ(Gunzip(Gzip(text), limit, "f.gz").value(), text.substr(0, limit)) << limit;
    EXPECT_EQ(Gunzip(Gzip("one") + Gzip(text), 3 + limit, "f.gz").value(),
              "one" + text.substr(0, limit))
        << limit;
  }
}

TEST(Idx, FileBytes_AreThoseOfHeaderAndElements) {
  EXPECT_EQ(IdxFileBytes(kPictures, 3, "t10k").value(), kPictures.size());
  EXPECT_EQ(IdxFileBytes(kPictures.substr(0, kMaxIdxHeaderBytes), 3, "t10k").value(),
            kPictures.size());
  EXPECT_FALSE(IdxFileBytes(kPictures.substr(0, kMaxIdxHeaderBytes - 1), 3, "t10k").ok());
}

TEST(Gunzip, CutChangedOrFollowedByMore_IsRefused) {
  const std::string whole = Gzip("some text to be compressed, some text to be compressed");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(absl::IsInvalidArgument(Gunzip(whole.substr(0, length), kNoLimit, "f.gz").status()))
        << length;
  }
  EXPECT_THAT(std::string(Gunzip(whole + "x", kNoLimit, "f.gz").status().message()),
              StartsWith("f.gz: "));
  std::string wrong_sum = whole;
  ++wrong_sum[whole.size() - 8];
  EXPECT_TRUE(absl::IsInvalidArgument(Gunzip(wrong_sum, kNoLimit, "f.gz").status()));
}

}  // namespace
}  // namespace tandem::data
