#include "common/answer_output.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "common/helper_process.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

// This program again, as one that answers while a library prints.
constexpr char kVariable[] = "TANDEM_TEST_ANSWERS";

TEST(AnswerOutputTest, WhatLibrariesPrint_IsNoPartOfTheAnswer) {
  if (std::getenv(kVariable) != nullptr) {
    std::printf("before\n");
    const auto output = AnswerOutput::Take();
    std::printf("NCCL version 2.28.9\n");
    std::cout << "another library" << std::endl;
    std::exit(output.ok() && output->Say("the answer").ok() ? 0 : 1);
  }
  auto program = HelperProcess::Start(
      {.path = "/proc/self/exe",
       .arguments = {"--gtest_brief=1",
                     "--gtest_filter=AnswerOutputTest.WhatLibrariesPrint_IsNoPartOfTheAnswer"},
       .environment = {std::string(kVariable) + "=1"}});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto printed = (*program)->ReadRest(absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_TRUE(printed->ends_with("before\nthe answer\n")) << *printed;
}

}  // namespace
}  // namespace tandem
