#include "common/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "common/checkpoint/testing_checkpoint.h"
#include "common/read_file.h"
#include "common/temporary_folder.h"

namespace tandem::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { EXPECT_TRUE(WriteSample(&folder_, 7).ok()); }

  absl::Status Open() { return OpenCheckpoint(path_).status(); }

  const TemporaryFolder place_ = *TemporaryFolder::Create("checkpoint");
  CheckpointFolder folder_{place_.path()};
  const std::string path_ = folder_.FileOf(7);
};

TEST_F(CheckpointTest, Open_HasTheManifestAndTheTensors) {
  const auto checkpoint = OpenCheckpoint(path_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(checkpoint->manifest, SampleManifest(7)))
      << checkpoint->manifest.DebugString();
  ASSERT_NE(checkpoint->file.Find("weight"), nullptr);
  EXPECT_EQ(checkpoint->file.Bytes(*checkpoint->file.Find("weight")), "aaaaaaaa");
}

TEST_F(CheckpointTest, Write_SameState_IsTheSameFile) {
  const std::string before = *ReadFile(path_);
  ASSERT_TRUE(WriteSample(&folder_, 7).ok());
  EXPECT_EQ(*ReadFile(path_), before);
}

TEST_F(CheckpointTest, Open_AnyTensorByteChanged_IsDataLoss) {
  const std::string whole = *ReadFile(path_);
  for (size_t i = whole.size() - 26; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    WriteText(path_, damaged);
    EXPECT_TRUE(absl::IsDataLoss(Open())) << i;
  }
}

TEST_F(CheckpointTest, Open_AnyByteOfTheManifestChanged_IsRefused) {
  const std::string whole = *ReadFile(path_);
  const size_t begin = whole.find("\\\"step\\\""), end = whole.find("parameter_digest");
  ASSERT_LT(begin, end);
  for (size_t i = begin; i < end; ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    WriteText(path_, damaged);
    EXPECT_FALSE(Open().ok()) << i;
  }
}

TEST_F(CheckpointTest, Open_OtherSafetensors_SaysThatItIsNoCheckpoint) {
  ASSERT_TRUE(WriteFileAtomically(path_, IfExists::kReplace, [](int fd) {
                return safetensors::WriteSafetensors(fd, {{"weight", "U8", {1}, "x"}}, {});
              }).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Open()));
  EXPECT_THAT(std::string(Open().message()), StartsWith(path_));
  EXPECT_THAT(std::string(Open().message()), HasSubstr("no checkpoint"));
}

TEST_F(CheckpointTest, Open_MissingFile_NamesIt) {
  EXPECT_THAT(std::string(OpenCheckpoint("/no/such").status().message()), StartsWith("/no/such"));
}

}  // namespace
}  // namespace tandem::checkpoint
