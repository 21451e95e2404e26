#pragma once

#include <string>

#include "server/core/options.h"

namespace tandem {

// What `tandemd` can be told. ParseFlags fills it from the command line; tests build it.
struct DaemonOptions {
  // Journal and logs. One coordinator at a time.
  std::string state_dir;
  // HOST:PORT; port 0 lets the system choose.
  std::string listen = "127.0.0.1:4270";
  std::string http = "127.0.0.1:4271";
  // Where the chosen addresses are written; empty: nowhere.
  std::string port_file;
  core::Options core;
};

}  // namespace tandem
