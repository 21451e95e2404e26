#include "common/spec/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tandem::spec {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kGood = R"(name: digits
workers: 2
global_batch_size: 64
epochs: 3
data:
  csv:
    path: digits.csv
    classes: 10
model:
  mlp:
    hidden: [64, 32]
    activation: gelu
optimizer:
  adamw:
    lr: 1e-3
)";

std::string With(const std::string& from, const std::string& to) {
  EXPECT_THAT(kGood, HasSubstr(from));
  return absl::StrReplaceAll(kGood, {{from, to}});
}

TEST(ReadYaml, GoodFile_FillsTheSpec) {
  const auto spec = ReadYaml(kGood, "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "digits");
  EXPECT_EQ(spec->workers(), 2u);
  EXPECT_EQ(spec->data().csv().path(), "digits.csv");
  EXPECT_THAT(spec->model().mlp().hidden(), testing::ElementsAre(64, 32));
  EXPECT_EQ(spec->model().mlp().activation(), v1::ACTIVATION_GELU);
  EXPECT_EQ(spec->optimizer().adamw().lr(), 1e-3);
  EXPECT_FALSE(spec->has_logical_ranks());
}

TEST(ReadYaml, RangeOfWorkers_IsMinAndMax) {
  const auto spec =
      ReadYaml(With("workers: 2", "workers: {min: 1, max: 4}\ncheckpoint: {dir: /c}"), "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->min_workers(), 1u);
  EXPECT_EQ(spec->workers(), 4u);
  EXPECT_FALSE(ReadYaml(kGood, "job.yaml")->has_min_workers());
}

TEST(ReadYaml, Durations_AreReadWithTheirUnits) {
  const auto spec = ReadYaml(
      With("epochs: 3", "epochs: 3\nhang_timeout: 1m30s\nrestart: {max: 5, backoff: 250ms}"),
      "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->hang_timeout().seconds(), 90);
  EXPECT_EQ(spec->restart().max(), 5u);
  EXPECT_EQ(spec->restart().backoff().nanos(), 250'000'000);
}

TEST(ReadYaml, BadRangesAndDurations_SayWhereAndWhat) {
  const auto error = [](const std::string& to) {
    return std::string(ReadYaml(With("workers: 2", to), "job.yaml").status().message());
  };
  EXPECT_THAT(error("workers: {min: 1}"), StartsWith("job.yaml:2:10: workers: a range needs both"));
  EXPECT_THAT(error("workers: {min: 1, most: 4}"), HasSubstr("workers.most: unknown key"));
  EXPECT_THAT(error("workers: {min: 0, max: 4}"), HasSubstr("workers.min: 0 is too small"));
  EXPECT_THAT(error("workers: {min: 3, max: 2}"), HasSubstr("workers.min: 3 is more than"));
  EXPECT_THAT(error("min_workers: 1"), HasSubstr("min_workers: unknown key"));
  EXPECT_THAT(error("hang_timeout: 5"), HasSubstr("expected a duration, such as 500ms, 2s or 1m"));
  EXPECT_THAT(error("hang_timeout: 1ms"), HasSubstr("1ms is too short: at least 100ms"));
  EXPECT_THAT(error("workers: {min: 1, min: 2, max: 4}"),
              StartsWith("job.yaml:2:19: workers.min: given twice, first at job.yaml:2:11"));
  EXPECT_THAT(error("workers: {min: 1, max: [4]}"),
              HasSubstr("workers.max: expected whole number, found a list"));
  EXPECT_THAT(error("workers: {min: 1, max: 2000}"), HasSubstr("workers.max: 2000 is too large"));
  EXPECT_THAT(error("hang_timeout: 9000h"), HasSubstr("9000h is too long: at most 8760h"));
  EXPECT_THAT(error("hang_timeout: -2s"), HasSubstr("found '-2s'"));
  EXPECT_THAT(error("restart: {backoff: inf}"), HasSubstr("found 'inf'"));
}

struct BadYaml {
  std::string label;
  std::string text;
  // Where the error must begin: "job.yaml:LINE:COLUMN: key".
  std::string place;
  // Something it must say.
  std::string says;
};

void PrintTo(const BadYaml& bad, std::ostream* out) { *out << bad.label; }

class ReadBadYaml : public testing::TestWithParam<BadYaml> {};

TEST_P(ReadBadYaml, SaysPlaceKeyAndRemedyOnOneLine) {
  const auto spec = ReadYaml(GetParam().text, "job.yaml");
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(spec.status().message());
  EXPECT_THAT(message, StartsWith(GetParam().place));
  EXPECT_THAT(message, HasSubstr(GetParam().says));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, ReadBadYaml,
    testing::Values(
        BadYaml{"Typo", With("workers", "wrokers"),
                "job.yaml:2:1: wrokers: ", "did you mean workers?"},
        BadYaml{"Hyphens", With("global_batch_size", "global-batch-size"),
                "job.yaml:3:1: global-batch-size: ", "did you mean global_batch_size?"},
        BadYaml{"NestedTypo", With("hidden", "hiden"),
                "job.yaml:11:5: model.mlp.hiden: ", "did you mean model.mlp.hidden?"},
        BadYaml{"NothingNear", With("lr: 1e-3", "zebra: 1"),
                "job.yaml:15:5: optimizer.adamw.zebra: ", "lr, beta1, beta2, eps, weight_decay"},
        BadYaml{"GivenTwice", With("epochs: 3", "epochs: 3\nepochs: 4"),
                "job.yaml:5:1: epochs: ", "first at job.yaml:4:1"},
        BadYaml{"TwoKinds", With("  adamw:", "  sgd: {lr: 1}\n  adamw:"),
                "job.yaml:15:3: optimizer.adamw: ", "together with sgd"},
        BadYaml{"KeyIsList", With("workers: 2", "? [a, b]\n: 2"), "job.yaml:2:3: ", "a list"},
        BadYaml{"EndlessKey", With("workers", "\"a\\nb" + std::string(500, 'x') + "\""),
                "job.yaml:2:1: a\\nbxxx", "xxx...: unknown key"},
        BadYaml{"MergeKey", With("workers: 2", "<<: {a: 1}"), "job.yaml:2:1: <<: ", "unknown key"}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    Values, ReadBadYaml,
    testing::Values(
        BadYaml{"TextForNumber", With("workers: 2", "workers: two"),
                "job.yaml:2:10: workers: ", "expected a whole number, found 'two'"},
        BadYaml{"QuotedNumber", With("workers: 2", "workers: \"2\""),
                "job.yaml:2:10: workers: ", "without quotes"},
        BadYaml{"FractionForWhole", With("workers: 2", "workers: 2.5"),
                "job.yaml:2:10: workers: ", "expected a whole number"},
        BadYaml{"ExponentForWhole", With("size: 64", "size: 1e3"),
                "job.yaml:3:20: global_batch_size: ", "write 1000"},
        BadYaml{"Underscores", With("size: 64", "size: 1_000"),
                "job.yaml:3:20: global_batch_size: ", "write 1000"},
        BadYaml{"LeadingZero", With("size: 64", "size: 010"),
                "job.yaml:3:20: global_batch_size: ", "write 10"},
        BadYaml{"Hexadecimal", With("size: 64", "size: 0x40"),
                "job.yaml:3:20: global_batch_size: ", "expected a whole number"},
        BadYaml{"Negative", With("size: 64", "size: -64"),
                "job.yaml:3:20: global_batch_size: ", "from 1 to 16777216"},
        BadYaml{"Zero", With("size: 64", "size: 0"),
                "job.yaml:3:20: global_batch_size: ", "from 1 to 16777216"},
        BadYaml{"BeyondLimit", With("size: 64", "size: 99999999"),
                "job.yaml:3:20: global_batch_size: ", "too large"},
        BadYaml{"Beyond32Bits", With("size: 64", "size: 99999999999"),
                "job.yaml:3:20: global_batch_size: ", "4294967295"},
        BadYaml{"Beyond64Bits", With("epochs: 3", "epochs: 99999999999999999999"),
                "job.yaml:4:9: epochs: ", "18446744073709551615"},
        BadYaml{"Nan", With("1e-3", ".nan"),
                "job.yaml:15:9: optimizer.adamw.lr: ", "expected a number"},
        BadYaml{"NanOfC", With("1e-3", "nan"),
                "job.yaml:15:9: optimizer.adamw.lr: ", "expected a number"},
        BadYaml{"Infinity", With("1e-3", "1e999"), "job.yaml:15:9: optimizer.adamw.lr: ", "double"},
        BadYaml{"NegativeRate", With("1e-3", "-0.1"),
                "job.yaml:15:9: optimizer.adamw.lr: ", "greater than 0"},
        BadYaml{"Nothing", With("workers: 2", "workers:"),
                "job.yaml:2:1: workers: ", "found nothing"},
        BadYaml{"ListForNumber", With("workers: 2", "workers: [2]"),
                "job.yaml:2:10: workers: ", "found a list"},
        BadYaml{"KeysForNumber", With("workers: 2", "seed: {a: 2}"),
                "job.yaml:2:7: seed: ", "found keys"},
        BadYaml{"NumberForList", With("[64, 32]", "64"),
                "job.yaml:11:13: model.mlp.hidden: ", "expected a list"},
        BadYaml{"BadElement", With("[64, 32]", "[64, x]"),
                "job.yaml:11:18: model.mlp.hidden[1]: ", "found 'x'"},
        BadYaml{"ZeroElement", With("[64, 32]", "[64, 0]"),
                "job.yaml:11:18: model.mlp.hidden[1]: ", "too small"},
        BadYaml{"NumberForKeys",
                With("  mlp:\n    hidden: [64, 32]\n    activation: gelu", "  mlp: 5"),
                "job.yaml:10:8: model.mlp: ", "expected keys (hidden, activation, dropout)"},
        BadYaml{"UnknownValue", With("gelu", "glu"),
                "job.yaml:12:17: model.mlp.activation: ", "did you mean gelu?"},
        BadYaml{"ProtoNameOfValue", With("gelu", "ACTIVATION_GELU"),
                "job.yaml:12:17: model.mlp.activation: ", "did you mean gelu?"},
        BadYaml{"YesForBool", With("  csv:", "  shuffle: yes\n  csv:"),
                "job.yaml:6:12: data.shuffle: ", "expected true or false, found 'yes'"}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    RulesBetweenKeys, ReadBadYaml,
    testing::Values(
        BadYaml{"MissingRate", With("    lr: 1e-3", "    eps: 1e-8"),
                "job.yaml:14:3: ", "optimizer.adamw.lr: required"},
        BadYaml{"MissingName", With("name: digits\n", ""), "job.yaml: ", "name: required"},
        BadYaml{"BatchSmallerThanWorkers", With("size: 64", "size: 1"),
                "job.yaml:3:1: ", "global_batch_size: 1 is less than logical_ranks (2)"},
        BadYaml{"ThreeLogicalRanks", With("workers: 2", "logical_ranks: 3"),
                "job.yaml:2:1: ", "power of two"},
        BadYaml{"StepsAndEpochs", With("epochs: 3", "steps: 9\nepochs: 3"),
                "job.yaml:5:1: ", "steps, epochs: give exactly one"},
        BadYaml{"NoLength", With("epochs: 3\n", ""), "job.yaml: ", "give exactly one"},
        BadYaml{"NameWithSpace", With("name: digits", "name: my digits"),
                "job.yaml:1:1: ", "name: character 3"}),
    [](const auto& info) { return info.param.label; });

std::string NestedLists(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// Each alias doubles what stands below it: 2^40 values, were they ever visited.
std::string AliasBomb() {
  std::string text = "name: &a0 [x, x]\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "k", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Files, ReadBadYaml,
    testing::Values(
        BadYaml{"Empty", "", "job.yaml: ", "empty"},
        BadYaml{"OnlyComments", "# nothing\n\n", "job.yaml: ", "empty"},
        BadYaml{"Text", "hello", "job.yaml:1:1: ", "expected keys"},
        BadYaml{"List", "- a\n- b\n", "job.yaml:1:1: ", "found a list"},
        BadYaml{"TwoDocuments", absl::StrCat(kGood, "---\nname: other\n"),
                "job.yaml:17:1: ", "second document"},
        BadYaml{"BrokenSyntax", "name: digits\ndata: {csv: [}\n", "job.yaml:2:", "not YAML"},
        BadYaml{"Tab", "data:\n\tcsv: 1\n", "job.yaml:2:", "not YAML"},
        BadYaml{"UnclosedQuote", "name: \"digits\nworkers: 2\n", "job.yaml: ", "required"},
        BadYaml{"UnknownAlias", "name: *nobody\n", "job.yaml:1:", "not YAML"},
        BadYaml{"SelfAlias", "name: &a [*a]\n", "job.yaml:1:", "found a list"},
        BadYaml{"AliasBomb", AliasBomb(), "job.yaml:1:", "found a list"},
        BadYaml{"DeepNesting", absl::StrCat("name: ", NestedLists(100000)),
                "job.yaml:1:", "not YAML"},
        BadYaml{"Binary",
                std::string("\x7f"
                            "ELF\0\0\1",
                            7),
                "job.yaml: ", "not a text file: see byte 5"},
        BadYaml{"Latin1", "name: caf\xe9\n", "job.yaml: ", "not a text file: see byte 10"},
        BadYaml{"Huge", std::string(kMaxSpecBytes + 1, '#'), "job.yaml: ", "longer than"}),
    [](const auto& info) { return info.param.label; });

// Not worth a line of their own in the schema, but people write them.
TEST(ReadYaml, QuotedText_AnchorsAndComments_AreYaml) {
  const auto spec = ReadYaml(With("name: digits", "# first\nname: &n '7'   # quoted"), "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "7");
}

std::string CommandWithEnv(const std::string& env) {
  return "name: train\ncommand:\n  argv: [train]\n  env: " + env + "\n";
}

TEST(ReadYaml, Assignments_MayBeKeysOrAList) {
  for (const std::string env : {"{A: b, C: \"1\", D: ''}", "[A=b, C=1, D=]"}) {
    const auto spec = ReadYaml(CommandWithEnv(env), "job.yaml");
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->command().env(), testing::ElementsAre("A=b", "C=1", "D="));
  }
}

TEST(ReadYaml, BadAssignments_NameTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{A: b, A: c}", "job.yaml:4:15: command.env.A: given twice, first at job.yaml:4:9"},
      {"{A: [b]}", "job.yaml:4:12: command.env.A: expected text, found a list"},
      {"{A: }", "job.yaml:4:12: command.env.A: expected text, found nothing"},
      {"[A]", "job.yaml:4:9: command.env[0]: expected NAME=VALUE, found 'A'"},
      {"[RANK=1]", "job.yaml:4:9: command.env[0]: RANK is set by Tandem"},
  };
  for (const auto& [env, message] : cases) {
    const absl::Status status = ReadYaml(CommandWithEnv(env), "job.yaml").status();
    EXPECT_EQ(std::string(status.message()), message);
  }
}

class ApplySettingTest : public testing::Test {
 protected:
  ApplySettingTest() : source_(*ParseYaml(kGood, "job.yaml")) {}
  absl::Status Set(const std::string& assignment) { return ApplySetting(assignment, &source_); }
  const v1::JobSpec& spec() const { return source_.spec; }

  SpecSource source_;
};

TEST_F(ApplySettingTest, ScalarsAndLists_Replace) {
  ASSERT_EQ(Set("optimizer.adamw.lr=0.5"), absl::OkStatus());
  ASSERT_EQ(Set("model.mlp.hidden=[8]"), absl::OkStatus());
  ASSERT_EQ(Set("name=a=b"), absl::OkStatus());
  EXPECT_EQ(spec().optimizer().adamw().lr(), 0.5);
  EXPECT_THAT(spec().model().mlp().hidden(), testing::ElementsAre(8));
  EXPECT_EQ(spec().name(), "a=b");
}

TEST_F(ApplySettingTest, Text_IsTakenAsItStandsThere) {
  for (const char* pattern :
       {"Loss: ([0-9.]+)", "[Ll]oss=([\\d.]+)", "\"\\d Loss: (.)", "{(.)}", "# (.)", "- (.)"}) {
    v1::JobSpec command;
    command.set_name("train");
    command.mutable_command()->add_argv("train");
    SpecSource source;
    source.spec = command;
    ASSERT_EQ(ApplySetting(absl::StrCat("command.parse.loss=", pattern), &source),
              absl::OkStatus());
    EXPECT_EQ(source.spec.command().parse().loss(), pattern);
  }
  ASSERT_EQ(Set("name='quoted'"), absl::OkStatus());
  EXPECT_EQ(spec().name(), "quoted");
}

TEST_F(ApplySettingTest, AnotherKind_TakesThePlaceOfTheFirst) {
  ASSERT_EQ(Set("optimizer.sgd.lr=0.1"), absl::OkStatus());
  EXPECT_TRUE(spec().optimizer().has_sgd());
  EXPECT_FALSE(spec().optimizer().has_adamw());
  EXPECT_EQ(Check(source_), absl::OkStatus());
}

TEST_F(ApplySettingTest, Steps_TakeThePlaceOfEpochs) {
  ASSERT_EQ(Set("steps=7"), absl::OkStatus());
  EXPECT_EQ(spec().steps(), 7u);
  EXPECT_FALSE(spec().has_epochs());
  EXPECT_EQ(Check(source_), absl::OkStatus());
}

TEST_F(ApplySettingTest, RuleBroken_IsSaidToBeInTheSetting) {
  ASSERT_EQ(Set("global_batch_size=1"), absl::OkStatus());
  EXPECT_THAT(std::string(Check(source_).message()),
              StartsWith("command line: global_batch_size: 1 is"));
}

TEST_F(ApplySettingTest, BadSettings_NameTheKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"workers", "command line: workers: expected key=value"},
      {"=1", "command line: unknown key"},
      {"wrokers=2", "command line: wrokers: unknown key, did you mean workers?"},
      {"model.mlp.hiden=[1]",
       "command line: model.mlp.hiden: unknown key, did you mean model.mlp.hidden?"},
      {"seed.x=2", "command line: seed: has no keys below it"},
      {"workers.min=2", "command line: workers: is set as a whole, as in workers={min: 1, max: 4}"},
      {"epochs=-1", "command line: epochs: expected a whole number, at least 1, found '-1'"},
      {"seed=-1", "command line: seed: expected a whole number, at least 0, found '-1'"},
      {"workers=two", "command line: workers: expected a whole number, found 'two'"},
      {"workers=", "command line: workers: expected whole number or {min, max}, found nothing"},
      {"workers=[", "command line: not YAML"},
      {std::string("workers=\0", 9), "command line: not a text file"},
  };
  for (const auto& [assignment, message] : cases) {
    const absl::Status status = Set(assignment);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << assignment;
    EXPECT_THAT(std::string(status.message()), StartsWith(message));
  }
}

}  // namespace
}  // namespace tandem::spec
