#include "client/doctor/findings.h"

namespace tandem::client::doctor {

void Findings::Ok(std::string aspect, std::string found) {
  Add(v1::SEVERITY_OK, std::move(aspect), std::move(found), "");
}

void Findings::Note(std::string aspect, std::string found, std::string remedy) {
  Add(v1::SEVERITY_NOTE, std::move(aspect), std::move(found), std::move(remedy));
}

void Findings::NotChecked(std::string aspect, std::string found, std::string remedy) {
  Add(v1::SEVERITY_NOT_CHECKED, std::move(aspect), std::move(found), std::move(remedy));
}

void Findings::Warning(std::string aspect, std::string found, std::string remedy) {
  Add(v1::SEVERITY_WARNING, std::move(aspect), std::move(found), std::move(remedy));
}

void Findings::Problem(std::string aspect, std::string found, std::string remedy) {
  Add(v1::SEVERITY_PROBLEM, std::move(aspect), std::move(found), std::move(remedy));
}

void Findings::Add(v1::Severity severity, std::string aspect, std::string found,
                   std::string remedy) {
  v1::HostFinding& finding = findings_.emplace_back();
  finding.set_severity(severity);
  finding.set_subject(subject_);
  finding.set_aspect(std::move(aspect));
  finding.set_found(std::move(found));
  finding.set_remedy(std::move(remedy));
}

}  // namespace tandem::client::doctor
