#include "worker/command/error_file.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;

TEST(ErrorFile, ExceptionOfTorchelastic_IsItsMessageAndItsCallStack) {
  const auto failure = ParseErrorFile(R"({"message": {"message": "ValueError: no data", "extraInfo":
      {"py_callstack": "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no data\n",
       "timestamp": "1700000000"}}})");
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_EQ(failure->message(), "ValueError: no data");
  EXPECT_THAT(
      failure->last_lines(),
      ElementsAre("Traceback (most recent call last):", "  File \"a.py\"", "ValueError: no data"));
}

TEST(ErrorFile, PlainMessage_IsTaken) {
  const auto failure = ParseErrorFile(R"({"message": "out of memory"})");
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->message(), "out of memory");
}

TEST(ErrorFile, LongCallStack_IsCutToItsEnd) {
  std::string stack;
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&stack, "line ", i, "\\n");
  const auto failure = ParseErrorFile(absl::StrCat(
      R"({"message": {"message": "deep", "extraInfo": {"py_callstack": ")", stack, R"("}}})"));
  ASSERT_EQ(failure->last_lines_size(), 20);
  EXPECT_EQ(failure->last_lines(19), "line 100");
}

TEST(ErrorFile, SomethingElse_IsNoException) {
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"message": 3})", R"({"message": {}})",
                           R"({"message": {"message": ["a"]}})"}) {
    EXPECT_FALSE(ParseErrorFile(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace tandem::command
