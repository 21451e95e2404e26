#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/v1/doctor.pb.h"

namespace tandem::client::doctor {

// Findings about one subject, in the order in which they were made.
class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}

  // `aspect`: what was looked at; `found` and `remedy`: a line each.
  void Ok(std::string aspect, std::string found);
  void Note(std::string aspect, std::string found, std::string remedy = "");
  void NotChecked(std::string aspect, std::string found, std::string remedy = "");
  void Warning(std::string aspect, std::string found, std::string remedy);
  void Problem(std::string aspect, std::string found, std::string remedy);

  std::vector<v1::HostFinding> Take() { return std::move(findings_); }

 private:
  void Add(v1::Severity severity, std::string aspect, std::string found, std::string remedy);

  const std::string subject_;
  std::vector<v1::HostFinding> findings_;
};

}  // namespace tandem::client::doctor
