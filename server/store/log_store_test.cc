#include "server/store/log_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"

namespace tandem::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = google::protobuf::RepeatedPtrField<v1::LogLine>;

const JobId kJob("digits-abc234");

Lines MakeLines(const std::vector<std::string>& texts) {
  Lines lines;
  for (const std::string& text : texts) {
    v1::LogLine* line = lines.Add();
    line->set_attempt(1);
    line->set_text(text);
    line->mutable_time()->set_seconds(1);
  }
  return lines;
}

// Everything from the start, page by page.
std::vector<std::string> ReadAll(const LogStore& logs) {
  std::vector<std::string> texts;
  uint64_t offset = 0;
  for (;;) {
    const auto page = logs.Read(kJob, offset);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok() || page->next_offset == offset) return texts;
    for (const v1::LogLine& line : page->lines) texts.push_back(line.text());
    offset = page->next_offset;
  }
}

class LogStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<LogStore> Open(uint64_t max_bytes = LogStore::kDefaultMaxBytes) {
    return *LogStore::Open(root_.path(), max_bytes);
  }
  std::string FileName() const { return root_.path() + "/" + kJob.value() + ".log"; }

  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-test");
};

TEST_F(LogStoreTest, Read_AfterAppends_GivesAllLinesInOrder) {
  const auto logs = Open();
  EXPECT_EQ(logs->Append(kJob, MakeLines({"one", "two"})), 0u);
  EXPECT_EQ(logs->Append(kJob, MakeLines({"three"})), 0u);
  EXPECT_THAT(ReadAll(*logs), ElementsAre("one", "two", "three"));
}

TEST_F(LogStoreTest, Read_JobWithoutLines_IsEmpty) { EXPECT_TRUE(ReadAll(*Open()).empty()); }

TEST_F(LogStoreTest, Read_FromTheEnd_GivesOnlyWhatIsNew) {
  const auto logs = Open();
  logs->Append(kJob, MakeLines({"old"}));
  const uint64_t end = logs->Read(kJob, 0)->next_offset;
  EXPECT_EQ(logs->Read(kJob, end)->next_offset, end);
  logs->Append(kJob, MakeLines({"new"}));
  const auto page = logs->Read(kJob, end);
  ASSERT_EQ(page->lines.size(), 1u);
  EXPECT_EQ(page->lines[0].text(), "new");
}

TEST_F(LogStoreTest, Read_ManyLines_TakesSeveralPages) {
  const auto logs = Open();
  const std::vector<std::string> texts(5000, std::string(200, 'x'));
  logs->Append(kJob, MakeLines(texts));
  EXPECT_LT(logs->Read(kJob, 0)->next_offset, std::filesystem::file_size(FileName()));
  EXPECT_EQ(ReadAll(*logs), texts);
}

TEST_F(LogStoreTest, Read_LineLongerThanAPage_GivesItWhole) {
  const auto logs = Open();
  const std::string longer(3 * LogStore::kPageBytes, 'y');
  logs->Append(kJob, MakeLines({longer, "after"}));
  EXPECT_THAT(ReadAll(*logs), ElementsAre(longer, "after"));
}

TEST_F(LogStoreTest, Append_FileIsFull_HasOneNoticeAndTheEndWhenItIsClosed) {
  auto logs = Open(/*max_bytes=*/100);
  EXPECT_EQ(logs->Append(kJob, MakeLines({std::string(120, 'x'), "before"})), 0u);
  EXPECT_THAT(ReadAll(*logs), ElementsAre(std::string(120, 'x'), HasSubstr("limit")));
  logs.reset();
  logs = Open(/*max_bytes=*/100);
  EXPECT_EQ(logs->Append(kJob, MakeLines({"after", "a restart"})), 0u);
  logs->Close(kJob);
  EXPECT_THAT(ReadAll(*logs), ElementsAre(std::string(120, 'x'), HasSubstr("limit"), "before",
                                          "after", "a restart"));
}

TEST_F(LogStoreTest, Close_MoreThanTheEndThatIsKept_SaysHowManyLinesAreMissing) {
  const auto logs = Open(/*max_bytes=*/100);
  const std::string half(LogStore::kTailBytes / 2, 'y');
  EXPECT_EQ(logs->Append(kJob, MakeLines({std::string(120, 'x'), half, half, "last"})), 1u);
  logs->Close(kJob);
  EXPECT_THAT(ReadAll(*logs), ElementsAre(std::string(120, 'x'), HasSubstr("limit"),
                                          HasSubstr("1 lines are left out"), half, "last"));
}

// As of a rank that outlives its job.
TEST_F(LogStoreTest, Close_AgainAndAgain_TheFileStopsGrowing) {
  const auto logs = Open(/*max_bytes=*/100);
  logs->Append(kJob, MakeLines({std::string(120, 'x')}));
  for (int i = 0; i < 10; ++i) {
    logs->Append(kJob, MakeLines({std::string(LogStore::kTailBytes / 2, 'y')}));
    logs->Close(kJob);
  }
  EXPECT_LT(std::filesystem::file_size(FileName()), 3 * LogStore::kTailBytes);
}

TEST_F(LogStoreTest, Append_AfterACrashInsideALine_CutsTheTornLineOff) {
  Open()->Append(kJob, MakeLines({"whole", "torn"}));
  std::filesystem::resize_file(FileName(), std::filesystem::file_size(FileName()) - 2);
  const auto logs = Open();
  EXPECT_THAT(ReadAll(*logs), ElementsAre("whole"));
  logs->Append(kJob, MakeLines({"next"}));
  EXPECT_THAT(ReadAll(*logs), ElementsAre("whole", "next"));
}

TEST_F(LogStoreTest, Append_AfterClose_GoesOn) {
  const auto logs = Open();
  logs->Append(kJob, MakeLines({"one"}));
  logs->Close(kJob);
  logs->Append(kJob, MakeLines({"two"}));
  EXPECT_THAT(ReadAll(*logs), ElementsAre("one", "two"));
}

TEST_F(LogStoreTest, Append_FileCannotBeMade_DropsAndCounts) {
  const auto logs = Open();
  std::filesystem::create_directory(FileName());
  EXPECT_EQ(logs->Append(kJob, MakeLines({"one", "two"})), 2u);
}

TEST_F(LogStoreTest, Read_DamagedFile_SaysWhere) {
  std::ofstream(FileName()) << std::string(64, '\xff');
  const auto page = Open()->Read(kJob, 0);
  EXPECT_EQ(page.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(page.status().message()), HasSubstr(FileName()));
}

}  // namespace
}  // namespace tandem::store
