// Bad input, on the real binaries: one clear line that names the place, before any training starts.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

struct BadSpec {
  const char* name;
  std::string lines;
  std::vector<std::string> parts;  // of the message
};

void PrintTo(const BadSpec& bad, std::ostream* out) { *out << bad.name; }

class BadSpecTest : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, Submit_ExitsTwoWithOneLineNamingThePlace) {
  const TemporaryFolder temporary = *TemporaryFolder::Create("tandem-e2e");
  const std::string& folder = temporary.path();
  const std::string path = absl::StrCat(folder, "/bad-", GetParam().name, ".yaml");
  WriteFile(path, DigitsSpec(GetParam().lines));
  // No coordinator is needed to be told.
  Process submit({{Binary("tandem"), "submit", path}, {}, folder});
  EXPECT_EQ(submit.Wait(absl::Seconds(10)), 2);
  const std::string error = submit.Stderr();
  EXPECT_THAT(error, HasSubstr(path + ":"));
  for (const std::string& part : GetParam().parts) EXPECT_THAT(error, HasSubstr(part));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Spec, BadSpecTest,
    ::testing::Values(
        BadSpec{"UnknownKey", "global_batch_sise: 4", {"global_batch_sise", "global_batch_size"}},
        BadSpec{"WrongType", "steps: many", {"steps", "many"}},
        BadSpec{"NegativeBatch", "global_batch_size: -8", {"global_batch_size", "-8"}},
        BadSpec{"BatchSmallerThanWorkers",
                "workers: 4\nlogical_ranks: 4\nglobal_batch_size: 3",
                {"global_batch_size", "3"}},
        BadSpec{"MoreWorkersThanLogicalRanks", "workers: 4\nlogical_ranks: 2", {"workers"}},
        BadSpec{"NotAPowerOfTwo", "logical_ranks: 3", {"logical_ranks", "power of two"}},
        BadSpec{"TwoOptimizers", "optimizer: {adamw: {lr: 1}, sgd: {lr: 1}}", {"optimizer"}},
        BadSpec{"UnknownActivation", "model: {mlp: {hidden: [8], activation: reluu}}", {"relu"}}),
    [](const auto& info) { return std::string(info.param.name); });

struct BadData {
  const char* name;
  std::string csv;
  std::string place;  // what follows the path
};

void PrintTo(const BadData& bad, std::ostream* out) { *out << bad.name; }

class BadDataTest : public ::testing::TestWithParam<BadData> {};

TEST_P(BadDataTest, Job_FailsNamingFileAndLine_CoordinatorStaysUp) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(2);
  const std::string csv = cluster.folder() + "/data.csv";
  if (!GetParam().csv.empty()) WriteFile(csv, GetParam().csv == "empty" ? "" : GetParam().csv);
  const std::string id = cluster.Submit(
      DigitsSpec(absl::StrCat("data: {csv: {path: ", csv, ", classes: 3}}\nglobal_batch_size: 2")));
  const v1::Job job = cluster.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_BAD_INPUT) << job.cause().DebugString();
  EXPECT_THAT(job.cause().message(), HasSubstr(csv + GetParam().place));
  EXPECT_EQ(job.step(), 0U);
  EXPECT_EQ(cluster.Tandem({"wait", id}).exit_code, 1);
  EXPECT_EQ(cluster.Tandem({"list"}).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Csv, BadDataTest,
    ::testing::Values(BadData{"MissingFile", "", ""}, BadData{"EmptyFile", "empty", ""},
                      BadData{"NotANumber", "1,2,0\n1,2,0\n1,nan,0\n", ":3"},
                      BadData{"RaggedRow", "1,2,0\n1,0\n", ":2"},
                      BadData{"LabelOutOfRange", "1,2,0\n1,2,1\n1,2,3\n", ":3"},
                      BadData{"LabelNotWhole", "1,2,0.5\n", ":1"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tandem::testing
