#include "worker/data/npy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/read_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string NumPyFile(const std::string& name) {
  return ReadFile(absl::StrCat(TEST_DATA, "/", name)).value();
}

// A file of version 1 with this dictionary.
std::string FileOf(absl::string_view dictionary, absl::string_view data) {
  const std::string length = {static_cast<char>(dictionary.size()), '\0'};
  return absl::StrCat("\x93NUMPY\x01", absl::string_view("\0", 1), length, dictionary, data);
}

std::string Dictionary(absl::string_view descr, absl::string_view shape) {
  return absl::StrCat("{'descr': ", descr, ", 'fortran_order': False, 'shape': ", shape, ", } \n");
}

std::string ErrorOf(absl::string_view bytes) {
  const auto array = ParseNpy(bytes, "x.npy");
  EXPECT_TRUE(absl::IsInvalidArgument(array.status())) << array.status();
  EXPECT_THAT(std::string(array.status().message()), StartsWith("x.npy: "));
  return std::string(array.status().message());
}

TEST(Npy, Parse_FileOfNumPy_GivesItsArray) {
  const std::string bytes = NumPyFile("f4.npy");
  const auto array = ParseNpy(bytes, "x.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->place, "x.npy");
  EXPECT_EQ(array->dtype, "F32");
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6.5};
  EXPECT_EQ(array->bytes, absl::string_view(reinterpret_cast<const char*>(numbers.data()), 24));
}

TEST(Npy, Parse_EveryDtype_IsNamedAsInSafetensors) {
  for (const auto& [descr, name, bytes] :
       std::vector<std::tuple<const char*, const char*, size_t>>{{"'<f2'", "F16", 2},
                                                                 {"'<f4'", "F32", 4},
                                                                 {"'<f8'", "F64", 8},
                                                                 {"'|i1'", "I8", 1},
                                                                 {"'<i2'", "I16", 2},
                                                                 {"'<i4'", "I32", 4},
                                                                 {"'<i8'", "I64", 8},
                                                                 {"'|u1'", "U8", 1},
                                                                 {"'<u2'", "U16", 2},
                                                                 {"'<u4'", "U32", 4},
                                                                 {"'<u8'", "U64", 8},
                                                                 {"'|b1'", "BOOL", 1}}) {
    const std::string file = FileOf(Dictionary(descr, "(1,)"), std::string(bytes, '\0'));
    EXPECT_EQ(ParseNpy(file, "x").value().dtype, name);
  }
}

TEST(Npy, Parse_LaterVersions_HaveALongerLength) {
  const std::string dictionary = Dictionary("\"<f4\"", "(1,)");
  const std::string length = {static_cast<char>(dictionary.size()), '\0', '\0', '\0'};
  for (const char version : {'\x02', '\x03'}) {
    const std::string file =
        absl::StrCat("\x93NUMPY", std::string{version, '\0'}, length, dictionary, "1234");
    EXPECT_EQ(ParseNpy(file, "x").value().bytes, "1234");
  }
  ErrorOf(absl::StrCat("\x93NUMPY", std::string{'\x04', '\0'}, length, dictionary, "1234"));
}

TEST(Npy, Parse_ColumnsFirst_IsRefusedWithTheReason) {
  EXPECT_THAT(ErrorOf(NumPyFile("fortran.npy")), HasSubstr("ascontiguousarray"));
}

TEST(Npy, Parse_HighestByteFirst_IsRefusedWithTheReason) {
  EXPECT_THAT(ErrorOf(FileOf(Dictionary("'>f4'", "(1,)"), "1234")), HasSubstr("astype"));
}

TEST(Npy, Parse_OtherThanNumbers_IsRefused) {
  for (const char* descr : {"'<c8'", "'<U3'", "'|O'", "'<M8[s]'", "''", "'f4'"}) {
    EXPECT_THAT(ErrorOf(FileOf(Dictionary(descr, "(1,)"), "1234")), HasSubstr("can be read"))
        << descr;
  }
  EXPECT_THAT(ErrorOf(FileOf(Dictionary("[('a', '<f4')]", "(1,)"), "1234")),
              HasSubstr("named fields"));
}

TEST(Npy, Parse_OtherLengthThanTheShapeSays_IsRefused) {
  for (const char* shape :
       {"(2,)", "(0,)", "(1, 2)", "(4294967296, 4294967296)", "(4611686018427387904, 4)"}) {
    ErrorOf(FileOf(Dictionary("'<f4'", shape), "1234"));
  }
  EXPECT_TRUE(ParseNpy(FileOf(Dictionary("'<f4'", "()"), "1234"), "x").ok());
}

TEST(Npy, Parse_HeaderThatIsNone_IsRefused) {
  for (const char* dictionary :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1}", "{'descr': '<f4",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} more"}) {
    ErrorOf(FileOf(dictionary, "1234"));
  }
}

TEST(Npy, Parse_CutAnywhere_IsRefused) {
  const std::string whole = NumPyFile("f4.npy");
  for (size_t length = 0; length < whole.size(); ++length) ErrorOf(whole.substr(0, length));
  ErrorOf(whole + "x");
}

TEST(Npy, Parse_AnyByteOfTheHeaderChanged_IsRefusedOrStaysWithinTheFile) {
  const std::string whole = NumPyFile("f4.npy");
  for (size_t at = 0; at < 128; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      const auto array = ParseNpy(bytes, "x");
      if (!array.ok()) continue;
      EXPECT_EQ(array->bytes.end(), absl::string_view(bytes).end());
    }
  }
}

}  // namespace
}  // namespace tandem::data
