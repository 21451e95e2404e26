#include "worker/data/csv.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::Csv ThreeClasses() {
  v1::Csv spec;
  spec.set_path("t.csv");
  spec.set_header(false);
  spec.set_label_column(-1);
  spec.set_scale(1);
  spec.set_classes(3);
  return spec;
}

absl::StatusOr<Samples> Parse(absl::string_view text, const v1::Csv& spec = ThreeClasses()) {
  return ParseCsv(text, "t.csv", spec);
}

std::vector<float> FeaturesOf(const absl::StatusOr<Samples>& samples) {
  return std::get<std::vector<float>>(samples->inputs);
}

std::vector<int64_t> LabelsOf(const absl::StatusOr<Samples>& samples) {
  return std::get<std::vector<int64_t>>(samples->targets);
}

std::string ErrorOf(absl::string_view text, const v1::Csv& spec = ThreeClasses()) {
  const absl::StatusOr<Samples> samples = Parse(text, spec);
  EXPECT_TRUE(absl::IsInvalidArgument(samples.status())) << samples.status();
  return std::string(samples.status().message());
}

TEST(Csv, Parse_TwoSamples_HoldsFeaturesAndLabels) {
  const absl::StatusOr<Samples> samples = Parse("1,2.5,0\n-3e1, 4 ,2\n");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->shape, (SampleShape{.inputs = {2}, .targets = {}, .classes = 3}));
  EXPECT_EQ(samples->count, 2);
  EXPECT_THAT(FeaturesOf(samples), ElementsAre(1, 2.5, -30, 4));
  EXPECT_THAT(LabelsOf(samples), ElementsAre(0, 2));
}

TEST(Csv, Parse_LineEndings_DoNotMatter) {
  for (const char* text : {"1,0\n2,1\n", "1,0\n2,1", "1,0\r\n2,1\r\n", "1,0\r\n2,1"}) {
    const absl::StatusOr<Samples> samples = Parse(text);
    ASSERT_TRUE(samples.ok()) << samples.status();
    EXPECT_THAT(FeaturesOf(samples), ElementsAre(1, 2));
    EXPECT_THAT(LabelsOf(samples), ElementsAre(0, 1));
  }
}

TEST(Csv, Parse_Header_IsNotASample) {
  v1::Csv spec = ThreeClasses();
  spec.set_header(true);
  EXPECT_EQ(Parse("a,b\n1,2\n", spec)->count, 1);
  EXPECT_THAT(ErrorOf("a,b\n1,x\n", spec), StartsWith("t.csv:2: column 2:"));
  EXPECT_THAT(ErrorOf("a,b\n", spec), StartsWith("t.csv: "));
  EXPECT_THAT(ErrorOf("a,b\n1,2\n"), HasSubstr("data.csv.header"));
}

TEST(Csv, Parse_LabelColumn_IsTakenFromThere) {
  v1::Csv spec = ThreeClasses();
  spec.set_label_column(0);
  const absl::StatusOr<Samples> samples = Parse("2,7,8\n", spec);
  EXPECT_THAT(LabelsOf(samples), ElementsAre(2));
  EXPECT_THAT(FeaturesOf(samples), ElementsAre(7, 8));
  spec.set_label_column(3);
  EXPECT_THAT(ErrorOf("2,7,8\n", spec), HasSubstr("data.csv.label_column"));
}

TEST(Csv, Parse_Scale_MultipliesFeaturesOnly) {
  v1::Csv spec = ThreeClasses();
  spec.set_scale(0.0625);
  const absl::StatusOr<Samples> samples = Parse("16,2\n", spec);
  EXPECT_THAT(FeaturesOf(samples), ElementsAre(1));
  EXPECT_THAT(LabelsOf(samples), ElementsAre(2));
  spec.set_scale(1e30);
  EXPECT_THAT(ErrorOf("1e30,0\n", spec), StartsWith("t.csv:1: column 1:"));
}

TEST(Csv, Parse_Empty_IsRefused) { EXPECT_THAT(ErrorOf(""), StartsWith("t.csv: ")); }

TEST(Csv, Parse_RaggedLine_NamesLineAndBothWidths) {
  const std::string error = ErrorOf("1,2,0\n1,2,0\n1,0\n");
  EXPECT_THAT(error, StartsWith("t.csv:3: "));
  EXPECT_THAT(error, HasSubstr("expected 3"));
  EXPECT_THAT(error, HasSubstr("found 2"));
  EXPECT_THAT(ErrorOf("1,0\n1,0,\n"), StartsWith("t.csv:2: "));
}

TEST(Csv, Parse_EmptyLine_IsRefused) {
  EXPECT_THAT(ErrorOf("1,0\n\n2,0\n"), StartsWith("t.csv:2: "));
  EXPECT_THAT(ErrorOf("1,0\n\n"), StartsWith("t.csv:2: "));
  EXPECT_THAT(ErrorOf("\n1,0\n"), StartsWith("t.csv:1: "));
}

TEST(Csv, Parse_ManyColumnsAndManyLines_ReservesNoMoreThanTheTextHolds) {
  // Lines times columns would be more than there are addresses.
  constexpr size_t kMany = size_t{1} << 23;
  EXPECT_THAT(ErrorOf(std::string(kMany, ',') + std::string(kMany, '\n')),
              StartsWith("t.csv:1: column 1: "));
}

TEST(Csv, Parse_LabelAlone_IsRefused) { EXPECT_THAT(ErrorOf("1\n2\n"), StartsWith("t.csv:1: ")); }

TEST(Csv, Parse_BadFeature_NamesLineAndColumn) {
  for (const char* bad :
       {"x", "", "1x", "1 2", "0x10", "nan", "NaN", "inf", "-inf", "1e999", "1e39"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("1,2,0\n1,", bad, ",0\n")), StartsWith("t.csv:2: column 2: "))
        << bad;
  }
}

TEST(Csv, Parse_BadLabel_NamesLineAndColumn) {
  for (const char* bad : {"3", "-1", "1.5", "nan", "inf", "1e18", "", "zero"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("1,0\n1,", bad, "\n")), StartsWith("t.csv:2: column 2: "))
        << bad;
  }
}

TEST(Csv, Parse_LongBinaryField_IsShownShortAndEscaped) {
  const std::string error = ErrorOf(std::string(10000, '\x01') + ",0\n");
  EXPECT_LT(error.size(), 300u);
  EXPECT_THAT(error, HasSubstr("\\x01"));
}

TEST(Csv, Parse_Shape_IsThatOfAnInput) {
  v1::Csv spec = ThreeClasses();
  spec.add_shape(2);
  spec.add_shape(3);
  EXPECT_THAT(Parse("1,2,3,4,5,6,0\n", spec)->shape.inputs, ElementsAre(2, 3));
  EXPECT_THAT(ErrorOf("1,2,3,4,5,0\n", spec), HasSubstr("data.csv.shape"));
  // Their product is 6 again modulo 2^64.
  for (int i = 0; i < 4; ++i) spec.add_shape(1 << 16);
  EXPECT_THAT(ErrorOf("1,2,3,4,5,6,0\n", spec), HasSubstr("data.csv.shape"));
}

}  // namespace
}  // namespace tandem::data
