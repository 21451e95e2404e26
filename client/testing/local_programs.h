#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "client/testing/process_fixture.h"

namespace tandem::client {

// The program beside the real coordinator and agent, and a trainer that only says what it did, with a
// folder for temporary files of its own.
class LocalProgramsTest : public ProcessTest {
 protected:
  LocalProgramsTest() {
    RunACopy();
    std::filesystem::copy_file(TANDEMD_BINARY, folder_ + "/tandemd");
    std::filesystem::copy_file(TANDEM_WORKER_BINARY, folder_ + "/tandem-worker");
    std::filesystem::copy_file(TRACING_TRAINER, folder_ + "/tandem-trainer");
    std::filesystem::copy_file(TANDEM_COMMAND_BINARY, folder_ + "/tandem-command");
    temporary_ = folder_ + "/tmp";
    std::filesystem::create_directory(temporary_);
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  ~LocalProgramsTest() override { unsetenv("TMPDIR"); }

  std::string temporary_;
};

}  // namespace tandem::client
