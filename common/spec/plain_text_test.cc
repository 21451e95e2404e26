#include "common/spec/plain_text.h"

#include <gtest/gtest.h>

namespace tandem::spec {
namespace {

TEST(FirstByteThatIsNotText, WellFormedUtf8_HasNone) {
  for (const char* text : {"", "plain\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(FirstByteThatIsNotText(text), std::nullopt) << text;
  }
}

TEST(FirstByteThatIsNotText, OddBytes_AreFound) {
  EXPECT_EQ(FirstByteThatIsNotText(absl::string_view("ab\0", 3)), 2u);
  for (const char* odd : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82",
                          "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(FirstByteThatIsNotText(std::string("a") + odd), 1u);
  }
}

TEST(Excerpt, LongText_IsCutBetweenCharacters) {
  EXPECT_EQ(Excerpt("short"), "short");
  EXPECT_EQ(Excerpt(std::string(39, 'x') + "\xc3\xa9y"), std::string(39, 'x') + "...");
}

TEST(Excerpt, ControlCharacters_AreEscaped) {
  EXPECT_EQ(Excerpt("a\nb\x1b[2J"), "a\\nb\\033[2J");
  EXPECT_EQ(Excerpt("\xc3\xa9"), "\xc3\xa9");
}

}  // namespace
}  // namespace tandem::spec
