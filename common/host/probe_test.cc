#include "common/host/probe.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A shell script in the place of tandem-trainer.
class ProbeTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::ProbeReport> Probe(const std::string& script,
                                        absl::Duration patience = kProbePatience) {
    std::ofstream(trainer_) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(trainer_, std::filesystem::perms::owner_all);
    return ProbeDevices(trainer_, patience);
  }
  std::string Refusal(const std::string& script, absl::Duration patience = kProbePatience) {
    const auto report = Probe(script, patience);
    EXPECT_TRUE(absl::IsUnavailable(report.status())) << report.status();
    EXPECT_THAT(std::string(report.status().message()), Not(HasSubstr("\n")));
    return std::string(report.status().message());
  }

  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
  const std::string trainer_ = place_.path() + "/tandem-trainer";
};

TEST_F(ProbeTest, Report_IsRead) {
  const auto report = Probe(R"([ "$*" = --probe ] || exit 1; cat <<END
{"devices": [{"kind": "cuda", "index": 1, "model": "NVIDIA H200", "totalBytes": "150754820096", "peers": [0]}],
 "libraries": [{"kind": "cuda", "visibilityVariable": "CUDA_VISIBLE_DEVICES",
                "environment": [{"name": "A", "value": "b"}], "ofLater": true}]}
END)");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->devices(0).index(), 1U);
  EXPECT_EQ(report->devices(0).total_bytes(), 150'754'820'096U);
  EXPECT_EQ(report->libraries(0).environment(0).value(), "b");
}

TEST_F(ProbeTest, WhatItSaysOnStderr_IsNoPartOfTheReport) {
  const auto report = Probe("echo warning >&2; echo '{\"build\": \"x\"}'; echo more >&2");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->build(), "x");
}

TEST_F(ProbeTest, MuchIsPrinted_IsReadToItsEnd) {
  const auto report =
      Probe(R"(printf '{"build": "'; yes | head -c 300000 | tr -d '\n'; echo '"}')");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->build().size(), 150'000U);
}

TEST_F(ProbeTest, Crash_IsNamedWithItsLastWords) {
  EXPECT_THAT(Refusal("echo first >&2; echo driver is broken >&2; kill -SEGV $$"),
              AllOf(HasSubstr("was ended by signal 11"), HasSubstr("driver is broken"),
                    Not(HasSubstr("first"))));
}

TEST_F(ProbeTest, Failure_IsNamedWithItsExitCode) {
  EXPECT_THAT(Refusal("echo unknown option >&2; exit 2"),
              AllOf(HasSubstr("ended with exit code 2"), HasSubstr("unknown option")));
}

TEST_F(ProbeTest, Garbage_IsNotTakenForAReport) {
  EXPECT_THAT(Refusal("echo all is well"), HasSubstr("something else"));
  EXPECT_THAT(Refusal("true"), HasSubstr("something else"));
  EXPECT_THAT(Refusal("echo '{\"devices\": 3}'"), HasSubstr("something else"));
  for (const char* kind : {"", "cpu", "../x", "cuda0", "auto"}) {
    const std::string report = absl::StrCat("{\"devices\": [{\"kind\": \"", kind, "\"}]}");
    EXPECT_THAT(Refusal("echo '" + report + "'"), HasSubstr("something else")) << kind;
  }
}

TEST_F(ProbeTest, NoAnswerInTime_IsGivenUpAndKilled) {
  EXPECT_THAT(Refusal("echo waiting >&2; exec sleep 1000", absl::Milliseconds(500)),
              AllOf(HasSubstr("did not answer in time"), HasSubstr("waiting")));
}

TEST_F(ProbeTest, NoProgram_IsSaid) {
  const auto report = ProbeDevices(place_.path() + "/nothing", kProbePatience);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("nothing"));
}

}  // namespace
}  // namespace tandem::host
