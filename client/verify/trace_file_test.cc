#include "client/verify/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "client/verify/sample_evidence.h"
#include "common/frame.h"
#include "common/temporary_folder.h"

namespace tandem::verify {
namespace {

class TraceFileTest : public testing::Test {
 protected:
  static std::string BytesOf(const RankTrace& trace) {
    std::string bytes;
    EXPECT_TRUE(AppendFrame(trace.header, &bytes).ok());
    for (const v1::StepTrace& step : trace.steps) EXPECT_TRUE(AppendFrame(step, &bytes).ok());
    return bytes;
  }
  void Write(int rank, const std::string& bytes) {
    std::ofstream(folder_.File(absl::StrCat("rank-", rank, ".trace")), std::ios::binary) << bytes;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-test");
  const verify::Run run_ = GoodRun(2);
};

TEST_F(TraceFileTest, WhatTwoRanksWrote_IsReadInOrder) {
  Write(0, BytesOf(run_.ranks[0]));
  Write(1, BytesOf(run_.ranks[1]));
  const auto traces = ReadTraces(folder_.path(), 2);
  ASSERT_TRUE(traces.ok()) << traces.status();
  ASSERT_EQ(traces->size(), 2u);
  EXPECT_EQ((*traces)[1].header.rank(), 1u);
  ASSERT_EQ((*traces)[1].steps.size(), kSteps);
  EXPECT_EQ((*traces)[1].steps[7].SerializeAsString(), run_.ranks[1].steps[7].SerializeAsString());
}

TEST_F(TraceFileTest, LastRecordCutShort_IsLeftOut) {
  const std::string bytes = BytesOf(run_.ranks[0]);
  Write(0, bytes.substr(0, bytes.size() - 1));
  const auto traces = ReadTraces(folder_.path(), 1);
  ASSERT_TRUE(traces.ok()) << traces.status();
  EXPECT_EQ((*traces)[0].steps.size(), kSteps - 1);
}

TEST_F(TraceFileTest, MissingOrEmptyFile_IsNotFoundAndNamed) {
  Write(0, "");
  EXPECT_EQ(ReadTraces(folder_.path(), 1).status().code(), absl::StatusCode::kNotFound);
  Write(0, BytesOf(run_.ranks[0]));
  const absl::Status missing = ReadTraces(folder_.path(), 2).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), testing::HasSubstr("rank-1.trace"));
}

TEST_F(TraceFileTest, OtherBytes_AreDataLoss) {
  Write(0, std::string(64, '\xff'));
  EXPECT_EQ(ReadTraces(folder_.path(), 1).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tandem::verify
