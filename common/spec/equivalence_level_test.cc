#include "common/spec/equivalence_level.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/spec/sample_spec.h"
#include "common/spec/spec.h"
#include "tandem/v1/options.pb.h"

namespace tandem::spec {
namespace {

using google::protobuf::FieldDescriptor;

// Each setting of `unsafe` that is a mistake: one key at a value that is not its default.
std::vector<v1::Unsafe> EverySettingOf(const FieldDescriptor& key) {
  std::vector<v1::Unsafe> settings;
  const auto& reflection = *v1::Unsafe::GetReflection();
  if (key.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    reflection.SetBool(&settings.emplace_back(), &key, true);
    return settings;
  }
  for (int i = 0; i < key.enum_type()->value_count(); ++i) {
    const auto& value = *key.enum_type()->value(i);
    if (value.number() == 0 || value.number() == v1::GRADIENT_SCALE_EXACT) continue;
    reflection.SetEnum(&settings.emplace_back(), &key, &value);
  }
  return settings;
}

TEST(EquivalenceOf, PlainSpecification_IsBitwise) {
  const Equivalence equivalence = EquivalenceOf(SampleSpec());
  EXPECT_EQ(equivalence.level, v1::EQUIVALENCE_LEVEL_BITWISE);
  EXPECT_EQ(equivalence.reason, "");
}

TEST(EquivalenceOf, Command_IsSemantic) {
  v1::JobSpec spec;
  spec.mutable_command()->add_argv("train");
  EXPECT_EQ(EquivalenceOf(spec).level, v1::EQUIVALENCE_LEVEL_SEMANTIC);
  EXPECT_EQ(EquivalenceOf(spec).reason, "command");
}

TEST(EquivalenceOf, AllReduce_IsSemantic) {
  v1::JobSpec spec = SampleSpec();
  spec.set_reduction(v1::REDUCTION_ALLREDUCE);
  EXPECT_EQ(EquivalenceOf(spec).level, v1::EQUIVALENCE_LEVEL_SEMANTIC);
  EXPECT_EQ(EquivalenceOf(spec).reason, "reduction: allreduce");
  FillDefaults(&spec);
  EXPECT_EQ(EquivalenceOf(spec).level, v1::EQUIVALENCE_LEVEL_SEMANTIC);
}

// By reflection: a key that is added to Unsafe is tested, and must count, from then on.
TEST(EquivalenceOf, AnyUnsafeKeyOn_IsNoneAndNamesTheKey) {
  const auto& type = *v1::Unsafe::descriptor();
  ASSERT_GE(type.field_count(), 10);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& key = *type.field(i);
    SCOPED_TRACE(key.name());
    ASSERT_TRUE(key.cpp_type() == FieldDescriptor::CPPTYPE_BOOL || key.name() == "gradient_scale");
    const std::vector<v1::Unsafe> settings = EverySettingOf(key);
    ASSERT_FALSE(settings.empty());
    for (const v1::Unsafe& setting : settings) {
      v1::JobSpec spec = SampleSpec();
      spec.set_reduction(v1::REDUCTION_ALLREDUCE);
      *spec.mutable_unsafe() = setting;
      const Equivalence equivalence = EquivalenceOf(spec);
      EXPECT_EQ(equivalence.level, v1::EQUIVALENCE_LEVEL_NONE);
      EXPECT_EQ(equivalence.reason, "unsafe." + key.name());
    }
  }
}

TEST(EquivalenceOf, UnsafeKeysGivenButOff_IsBitwise) {
  v1::JobSpec spec = SampleSpec();
  spec.mutable_unsafe();
  EXPECT_EQ(EquivalenceOf(spec).level, v1::EQUIVALENCE_LEVEL_BITWISE);
  FillDefaults(&spec);
  ASSERT_TRUE(spec.unsafe().has_unseeded());
  EXPECT_EQ(EquivalenceOf(spec).level, v1::EQUIVALENCE_LEVEL_BITWISE);
}

}  // namespace
}  // namespace tandem::spec
