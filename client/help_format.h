#pragma once

#include <string>

#include "CLI/App.hpp"
#include "CLI/Formatter.hpp"

namespace tandem::client {

// CLI11's help, no wider than 80 columns.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace tandem::client
