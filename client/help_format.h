#pragma once

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Formatter.hpp"

namespace tandem::client {

// "--max-restarts", and "-q": one spelling of each name. What torchrun also spells with underscores is
// understood, and not shown.
std::vector<std::string> ShownNames(const CLI::Option& option);

// CLI11's help, no wider than 80 columns.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace tandem::client
