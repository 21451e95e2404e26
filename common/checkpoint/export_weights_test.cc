#include "common/checkpoint/export_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint/testing_checkpoint.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ExportWeightsTest : public testing::Test {
 protected:
  ExportWeightsTest() : checkpoint_(MakeCheckpoint()) {}

  Checkpoint MakeCheckpoint() {
    CheckpointFolder folder(place_.path());
    EXPECT_TRUE(WriteSample(&folder, 3).ok());
    return *OpenCheckpoint(folder.FileOf(3));
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("export");
  const std::string target_ = place_.File("model.safetensors");
  Checkpoint checkpoint_;
};

TEST_F(ExportWeightsTest, Export_HasParametersAndBuffersAndNothingElse) {
  const auto weights = ExportWeights(checkpoint_, target_, IfExists::kFail);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->tensors, 2u);
  EXPECT_EQ(weights->parameters, 2u);
  const auto file = safetensors::SafetensorsFile::Open(target_);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> names;
  for (const auto& tensor : file->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, UnorderedElementsAre("weight", "mean"));
  EXPECT_EQ(file->Find("weight")->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file->Bytes(*file->Find("weight")), "aaaaaaaa");
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("format", "pt")));
}

TEST_F(ExportWeightsTest, Export_FileIsThere_IsReplacedOnlyWhenAsked) {
  WriteText(target_, "precious");
  EXPECT_TRUE(absl::IsAlreadyExists(ExportWeights(checkpoint_, target_, IfExists::kFail).status()));
  EXPECT_TRUE(ExportWeights(checkpoint_, target_, IfExists::kReplace).ok());
  EXPECT_TRUE(safetensors::SafetensorsFile::Open(target_).ok());
}

TEST_F(ExportWeightsTest, Export_ManifestNamesAMissingTensor_IsDataLoss) {
  checkpoint_.manifest.add_buffers("gone");
  const auto weights = ExportWeights(checkpoint_, target_, IfExists::kFail);
  EXPECT_TRUE(absl::IsDataLoss(weights.status()));
  EXPECT_FALSE(std::filesystem::exists(target_));
}

}  // namespace
}  // namespace tandem::checkpoint
