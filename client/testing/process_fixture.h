#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/testing/dead_port.h"
#include "common/spec/sample_spec.h"
#include "common/spec/yaml_writer.h"
#include "common/temporary_folder.h"

// Runs the program as a script does.
namespace tandem::client {

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    spec_file_ = folder_ + "/job.yaml";
    WriteSpec(Spec());
  }

  static v1::JobSpec Spec() {
    v1::JobSpec spec = spec::SampleSpec();
    spec.set_logical_ranks(4);
    return spec;
  }

  void WriteSpec(const v1::JobSpec& spec) { WriteText(spec::WriteYaml(spec)); }
  void WriteText(const std::string& text) { std::ofstream(spec_file_) << text; }

  // Whose neighbours, tandemd and tandem-worker, are the test's.
  void RunACopy() {
    program_ = folder_ + "/tandem";
    std::filesystem::copy_file(TANDEM_BINARY, program_);
  }
  void WriteProgram(const std::string& name, const std::string& script) {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(folder_ + "/" + name, std::filesystem::perms::owner_all);
  }

  // `line` goes through the shell, after the program's name.
  Result Tandem(const std::string& line) {
    const std::string command =
        absl::StrCat("export TANDEM_COORDINATOR=", coordinator_, "; { ", program_, " ", line,
                     "\n} >", folder_, "/out 2>", folder_, "/err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(folder_ + "/out"),
            Contents(folder_ + "/err")};
  }

  DeadPort nobody_{false};
  std::string program_ = TANDEM_BINARY;
  std::string coordinator_ = nobody_.address();
  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = place_.path();
  std::string spec_file_;
};

}  // namespace tandem::client
