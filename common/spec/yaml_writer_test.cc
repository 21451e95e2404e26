#include "common/spec/yaml_writer.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "common/spec/sample_spec.h"
#include "common/spec/spec.h"
#include "common/spec/yaml_reader.h"

namespace tandem::spec {
namespace {

void ExpectRoundTrip(const v1::JobSpec& spec) {
  const std::string text = WriteYaml(spec);
  const auto read = ReadYaml(text, "written.yaml");
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, *read)) << text;
}

TEST(WriteYaml, SampleSpec_ReadsBackEqual) { ExpectRoundTrip(SampleSpec()); }

TEST(WriteYaml, AllDefaults_ReadBackEqual) {
  v1::JobSpec spec = SampleSpec();
  spec.set_workers(3);
  spec.set_seed(4294967295u);
  spec.mutable_evaluate()->set_holdout(0.1 + 0.2);
  FillDefaults(&spec);
  ExpectRoundTrip(spec);
}

TEST(WriteYaml, RangesAndDurations_ReadBackEqual) {
  v1::JobSpec spec = SampleSpec();
  spec.set_min_workers(2);
  spec.set_workers(4);
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  spec.mutable_hang_timeout()->set_nanos(150'000'000);
  spec.mutable_restart()->mutable_backoff()->set_seconds(3600);
  ExpectRoundTrip(spec);
}

TEST(WriteYaml, Command_ReadsBackEqual) {
  v1::JobSpec spec;
  spec.set_name("train");
  for (const char* word : {"python3", "train.py", "--rate=1e-3", "a: b"}) {
    spec.mutable_command()->add_argv(word);
  }
  for (const char* text : {"A=b", "C=", "D=x=y # z"}) spec.mutable_command()->add_env(text);
  spec.mutable_command()->mutable_parse()->set_loss("loss: ([0-9.]+)");
  FillDefaults(&spec);
  ExpectRoundTrip(spec);
}

TEST(WriteYaml, OddTexts_ReadBackEqual) {
  for (const char* path : {"a: b", "~", "null", "true", "12", "# no", "\xc3\xa9t\xc3\xa9", "a\nb",
                           "\"q\"", "- x", "*a", " edge "}) {
    v1::JobSpec spec = SampleSpec();
    spec.mutable_data()->mutable_csv()->set_path(path);
    ExpectRoundTrip(spec);
  }
}

}  // namespace
}  // namespace tandem::spec
