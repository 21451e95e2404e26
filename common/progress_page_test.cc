#include "common/progress_page.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <limits>

#include "gtest/gtest.h"

namespace tandem {
namespace {

TEST(ProgressPage, Get_AfterWriterWasKilled_StillTellsWhereItWas) {
  auto page = ProgressPage::Create();
  ASSERT_TRUE(page.ok());
  const pid_t child = fork();
  if (child == 0) {
    auto opened = ProgressPage::Open(FileDescriptor(dup(page->fd())));
    opened->Set({.step = 41, .phase = v1::PHASE_BACKWARD});
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(page->Get().step, 41U);
  EXPECT_EQ(page->Get().phase, v1::PHASE_BACKWARD);
}

TEST(ProgressPage, Get_LargestStep_KeepsPhaseApart) {
  auto page = ProgressPage::Create();
  ASSERT_TRUE(page.ok());
  const uint64_t largest = std::numeric_limits<uint64_t>::max() >> 8;
  page->Set({.step = largest, .phase = v1::PHASE_DONE});
  EXPECT_EQ(page->Get().step, largest);
  EXPECT_EQ(page->Get().phase, v1::PHASE_DONE);
}

TEST(ProgressPage, Process_IsKeptApartFromThePosition) {
  auto page = ProgressPage::Create();
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->process(), 0);
  page->Set({.step = 7, .phase = v1::PHASE_COMMAND});
  page->SetProcess(4711);
  EXPECT_EQ(page->process(), 4711);
  EXPECT_EQ(page->Get().step, 7U);
}

TEST(ProgressPage, Open_NotAPage_IsInvalidArgument) {
  EXPECT_EQ(ProgressPage::Open(FileDescriptor(open("/dev/null", O_RDWR))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem
