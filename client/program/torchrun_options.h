#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace tandem::client {

// What torchrun's options say. Texts are as typed; empty where an option was not given.
struct TorchrunOptions {
  std::string nproc_per_node;
  std::string nnodes;
  bool standalone = false;
  std::optional<uint32_t> max_restarts;
  std::optional<uint32_t> master_port;
  std::string rdzv_id;
  std::string log_dir;
  std::string tee;
  std::string redirects;
  bool module = false;
  bool no_python = false;
  // Options that have nothing to do here, such as "--rdzv-backend".
  std::vector<std::string> ignored;

  // With the names that torchrun gives them, with dashes and with underscores. This outlives `command`.
  void AddTo(CLI::App* command);
  // Those that say how the program is run.
  void AddProgramKindTo(CLI::App* command);
};

}  // namespace tandem::client
