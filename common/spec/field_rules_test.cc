#include "common/spec/field_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/time/time.h"
#include "common/spec/nearest.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void VisitFields(const Descriptor& type, const std::function<void(const FieldDescriptor&)>& visit) {
  for (int i = 0; i < type.field_count(); ++i) {
    visit(*type.field(i));
    if (IsSection(*type.field(i))) VisitFields(*type.field(i)->message_type(), visit);
  }
}

TEST(Rules, EveryKey_HasHelp) {
  VisitFields(*v1::JobSpec::descriptor(), [](const FieldDescriptor& field) {
    EXPECT_NE(RuleOf(field).help(), "") << field.full_name();
  });
}

TEST(Rules, EveryShortestDuration_Reads) {
  VisitFields(*v1::JobSpec::descriptor(), [](const FieldDescriptor& field) {
    absl::Duration shortest;
    const std::string& text = RuleOf(field).min_duration();
    EXPECT_TRUE(text.empty() || absl::ParseDuration(text, &shortest)) << field.full_name();
  });
}

TEST(Rules, EveryHiddenKey_IsWrittenAsPartOfARange) {
  VisitFields(*v1::JobSpec::descriptor(), [](const FieldDescriptor& field) {
    EXPECT_EQ(RuleOf(field).range_from().empty(), RangeStart(field) == nullptr);
    EXPECT_EQ(RuleOf(field).hidden(), KeyName(field) != field.name()) << field.full_name();
  });
}

TEST(Rules, EveryDefault_ReadsAndKeepsItsOwnLimits) {
  int defaults = 0;
  VisitFields(*v1::JobSpec::descriptor(), [&](const FieldDescriptor& field) {
    const std::string& text = RuleOf(field).default_();
    if (text.empty()) return;
    ++defaults;
    const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
        field.containing_type());
    const std::unique_ptr<google::protobuf::Message> message(prototype->New());
    EXPECT_TRUE(SetFromText(text, field, message.get()).ok()) << field.full_name();
    EXPECT_EQ(ValueProblem(*message, field, 0), std::nullopt) << field.full_name();
    EXPECT_TRUE(field.has_presence()) << field.full_name() << " needs `optional` for a default";
  });
  EXPECT_GT(defaults, 10);
}

TEST(NumberText, IsShortestThatReadsBack) {
  EXPECT_EQ(NumberText(16777216), "16777216");
  EXPECT_EQ(NumberText(1000000), "1000000");
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(1e-8), "1e-08");
  EXPECT_EQ(NumberText(-1), "-1");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(NearestWord, PrefersWholeWordsToFewerEdits) {
  EXPECT_EQ(NearestWord("batch_size", {"batch_norm", "global_batch_size"}), "global_batch_size");
  EXPECT_EQ(NearestWord("batch_nrom", {"batch_norm", "global_batch_size"}), "batch_norm");
}

TEST(NearestWord, FindsTyposHyphensCaseAndParts) {
  const std::vector<std::string> keys = {"name", "global_batch_size", "steps", "epochs"};
  EXPECT_EQ(NearestWord("nmae", keys), "name");
  EXPECT_EQ(NearestWord("Global-Batch-Size", keys), "global_batch_size");
  EXPECT_EQ(NearestWord("batch_size", keys), "global_batch_size");
  EXPECT_EQ(NearestWord("epoch", keys), "epochs");
  EXPECT_EQ(NearestWord("zebra", keys), std::nullopt);
  EXPECT_EQ(NearestWord("", keys), std::nullopt);
}

}  // namespace
}  // namespace tandem::spec
