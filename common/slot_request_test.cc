#include "common/slot_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KindOfSlot, Name_IsWhatStandsBeforeItsNumber) {
  EXPECT_EQ(KindOfSlot("cuda:12"), "cuda");
  EXPECT_EQ(KindOfSlot("cpu:0"), "cpu");
}

TEST(ParseSlotRequest, Cpu_TakesACount) {
  const auto request = ParseSlotRequest("cpu:4");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->kind, "cpu");
  EXPECT_EQ(request->size(), 4U);
}

TEST(ParseSlotRequest, EveryOtherKind_TakesIndicesInAnyOrder) {
  const auto request = ParseSlotRequest("cuda:3,0");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->kind, "cuda");
  EXPECT_THAT(request->indices, ElementsAre(3U, 0U));
  EXPECT_EQ(request->size(), 2U);
}

TEST(ParseSlotRequest, AllAndAuto_LeaveTheNumberOpen) {
  const auto all = ParseSlotRequest("xpu:all");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->kind, "xpu");
  EXPECT_THAT(all->indices, IsEmpty());
  EXPECT_EQ(all->size(), 0U);
  const auto any = ParseSlotRequest("auto");
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_TRUE(any->is_auto());
}

TEST(ParseSlotRequest, IndexTwice_IsNamed) {
  const auto request = ParseSlotRequest("cuda:0,1,0");
  ASSERT_FALSE(request.ok());
  EXPECT_THAT(std::string(request.status().message()), HasSubstr("cuda:0 "));
}

TEST(ParseSlotRequest, AnythingElse_IsRefusedWithWhatIsAccepted) {
  for (const char* text :
       {"",        "2",        "cpu",        "cpu:",    "cpu:0",  "cpu:1025", "cpu:-1",
        "cpu:two", "cpu:2 ",   "cpu:all",    "cpu:0,1", "cuda",   "cuda:",    "cuda:-1",
        "cuda:0,", "cuda:0,x", "cuda:99999", ":0",      "CUDA:0", "Auto",     "cu da:0"}) {
    const auto request = ParseSlotRequest(text);
    ASSERT_FALSE(request.ok()) << text;
    EXPECT_THAT(std::string(request.status().message()), HasSubstr("cuda:0,1")) << text;
  }
}

}  // namespace
}  // namespace tandem
