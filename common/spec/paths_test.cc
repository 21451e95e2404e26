#include "common/spec/paths.h"

#include "common/spec/sample_spec.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace tandem::spec {
namespace {

TEST(ClearPaths, AllPaths_GoAndNothingElse) {
  v1::JobSpec spec = SampleSpec();
  spec.set_resume_from("/old");
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  spec.mutable_checkpoint()->set_keep(2);
  v1::JobSpec expected = spec;
  expected.clear_resume_from();
  expected.mutable_checkpoint()->clear_dir();
  expected.mutable_data()->mutable_csv()->clear_path();
  ClearPaths(&spec);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, expected))
      << spec.DebugString();
}

}  // namespace
}  // namespace tandem::spec
