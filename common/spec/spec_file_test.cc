#include "common/spec/spec_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/spec/paths.h"
#include "common/spec/sample_spec.h"
#include "common/spec/yaml_writer.h"
#include "common/temporary_folder.h"

namespace tandem::spec {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LoadSpecTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::string path = folder_ + "/job.yaml";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string WriteWithPath(const std::string& data_path) {
    v1::JobSpec spec = SampleSpec();
    spec.mutable_data()->mutable_csv()->set_path(data_path);
    return Write(WriteYaml(spec));
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = place_.path();
};

TEST_F(LoadSpecTest, RelativePath_IsTakenFromTheFolderOfTheFile) {
  const auto spec = LoadSpec(WriteWithPath("../data/./digits.csv"), {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto expected = std::filesystem::path(folder_).parent_path() / "data/digits.csv";
  EXPECT_EQ(spec->data().csv().path(), expected.string());
}

TEST_F(LoadSpecTest, AbsolutePath_Stays) {
  const auto spec = LoadSpec(WriteWithPath("/data/digits.csv"), {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->data().csv().path(), "/data/digits.csv");
}

TEST_F(LoadSpecTest, PathInSetting_IsTakenFromTheWorkingDirectory) {
  const auto spec = LoadSpec(WriteWithPath("digits.csv"), {"data.csv.path=mine.csv", "workers=2"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->data().csv().path(), (std::filesystem::current_path() / "mine.csv").string());
}

TEST_F(LoadSpecTest, CommandWithoutFolder_IsStartedInThatOfTheFile) {
  const std::string text = "name: train\ncommand:\n  argv: [python3, train.py]\n";
  const auto spec = LoadSpec(Write(text), {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->command().working_dir(), folder_);
  const auto other = LoadSpec(Write(text + "  working_dir: sub\n"), {});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->command().working_dir(), folder_ + "/sub");
}

TEST(CompleteSpec, SettingsStandOverWhatThereIs) {
  const auto spec = CompleteSpec(SampleSpec(), {"seed=7", "data.csv.path=digits.csv"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), SampleSpec().name());
  EXPECT_EQ(spec->seed(), 7u);
  EXPECT_EQ(spec->data().csv().path(), std::filesystem::current_path() / "digits.csv");
}

TEST(CompleteSpec, WhatIsWrongComesFromTheCommandLine) {
  v1::JobSpec spec = SampleSpec();
  EXPECT_THAT(std::string(CompleteSpec(spec, {"seed=many"}).status().message()),
              StartsWith("command line: seed: "));
  spec.set_name("two words");
  EXPECT_THAT(std::string(CompleteSpec(spec, {}).status().message()),
              StartsWith("command line: name: "));
}

TEST(CheckPathsAreAbsolute, RelativePath_IsNamedByItsKey) {
  v1::JobSpec spec = SampleSpec();
  EXPECT_TRUE(CheckPathsAreAbsolute(spec).ok());
  spec.mutable_data()->mutable_csv()->set_path("digits.csv");
  const absl::Status status = CheckPathsAreAbsolute(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), StartsWith("data.csv.path: must be absolute"));
}

TEST(Examples, EverySpec_IsValidAndItsDataIsThere) {
  int specs = 0;
  for (const auto& file : std::filesystem::directory_iterator(TANDEM_SOURCE_DIR "/examples")) {
    if (file.path().extension() != ".yaml") continue;
    ++specs;
    const auto spec = LoadSpec(file.path().string(), {});
    ASSERT_TRUE(spec.ok()) << spec.status();
    for (const std::string& path : {spec->data().csv().path(), spec->data().text().path()}) {
      EXPECT_TRUE(path.empty() || std::filesystem::exists(path)) << file.path();
    }
  }
  EXPECT_GT(specs, 0);
}

TEST_F(LoadSpecTest, MissingFile_IsNotFoundAndNamed) {
  const auto spec = LoadSpec(folder_ + "/none.yaml", {});
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(spec.status().message()),
              StartsWith(folder_ + "/none.yaml: No such file"));
}

TEST_F(LoadSpecTest, Folder_IsRefused) {
  EXPECT_THAT(std::string(LoadSpec(folder_, {}).status().message()), HasSubstr("is a folder"));
}

TEST_F(LoadSpecTest, EndlessFile_IsRefusedWithoutReadingOn) {
  EXPECT_THAT(std::string(LoadSpec("/dev/zero", {}).status().message()),
              StartsWith("/dev/zero: longer than"));
}

TEST_F(LoadSpecTest, MistakeInFile_NamesFileAndLine) {
  const std::string path = Write("name: digits\nnmae: 1\n");
  EXPECT_THAT(std::string(LoadSpec(path, {}).status().message()),
              StartsWith(path + ":2:1: nmae: unknown key, did you mean name?"));
}

}  // namespace
}  // namespace tandem::spec
