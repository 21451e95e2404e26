#include "common/duration_flag.h"

#include "gtest/gtest.h"

namespace tandem {
namespace {

TEST(ParseDurationFlag, FiniteDuration_IsRead) {
  EXPECT_EQ(*ParseDurationFlag("--wait", "250ms"), absl::Milliseconds(250));
  EXPECT_EQ(*ParseDurationFlag("--wait", "0"), absl::ZeroDuration());
}

TEST(ParseDurationFlag, AnythingElse_IsRefusedByTheNameOfTheFlag) {
  for (const char* text : {"", "soon", "5", "-1s", "inf", "-inf"}) {
    const auto parsed = ParseDurationFlag("--wait", text);
    EXPECT_EQ(parsed.status(),
              absl::InvalidArgumentError(
                  absl::StrCat("--wait: '", text, "' is not a duration such as 250ms, 10s or 5m")));
  }
}

}  // namespace
}  // namespace tandem
